/** What servers-setup.ts provides to every test file through `inject` of vitest. */
export type Provided = {
  /** superuser URL of the Postgres server that all tests of this run share */
  postgresUrl: string
  /** the migrated database that test databases are cloned from, or why it is missing */
  template: { database: string } | { reason: string }
  /** the Redis server that all tests of this run share; undefined if this machine has no redis-server */
  redisUrl: string | undefined
}

/** Returns the database name of the cookbook history. The first test file that needs it mirrors it, and several clone it. */
export const nameOfHistory = (template: string) => `${template}_history`

declare module 'vitest' {
  export interface ProvidedContext extends Provided {}
}
