/** What servers-setup.ts hands to every test file through vitest's `inject`. */
export type Provided = {
  /** superuser URL of the one Postgres server of this run */
  postgresUrl: string
  /** the migrated database that test databases are cloned from, or why there is none */
  template: { database: string } | { reason: string }
  /** the one Redis server of this run; undefined when this machine has no redis-server */
  redisUrl: string | undefined
}

/** The name on the server of the history of the cookbook, which several test files clone and the first of them mirrors. */
export const nameOfHistory = (template: string) => `${template}_history`

declare module 'vitest' {
  export interface ProvidedContext extends Provided {}
}
