export const ROLES = ['scheduler', 'worker', 'watcher', 'web'] as const

/** A part of the daemon that a process may take on; all of them unless told. */
export type Role = (typeof ROLES)[number]
