/** What servers-setup.ts hands to every test file through vitest's `inject`. */
export type Provided = {
  /** superuser URL of the one Postgres server of this run */
  postgresUrl: string
  /** the migrated database that test databases are cloned from, or why there is none */
  template: { database: string } | { reason: string }
  /** the one Redis server of this run; undefined when this machine has no redis-server */
  redisUrl: string | undefined
}

/** The databases that several test files clone and the first of them prepares. */
export const PREPARED_DATABASES = ['history'] as const

/** Returns the name on the server of a prepared database of this run. */
export function nameOfPrepared(template: string, name: (typeof PREPARED_DATABASES)[number]): string {
  return `${template}_${name}`
}

declare module 'vitest' {
  export interface ProvidedContext extends Provided {}
}
