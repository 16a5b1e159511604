export const ROLES = ['scheduler', 'worker', 'watcher', 'web'] as const

/** A part of the daemon. A process runs all parts unless `--roles` names some. */
export type Role = (typeof ROLES)[number]
