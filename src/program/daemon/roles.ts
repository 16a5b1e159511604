export const ROLES = ['scheduler', 'worker', 'watcher', 'web'] as const

/** A part of the daemon. A process runs all of them unless `--roles` names some. */
export type Role = (typeof ROLES)[number]
