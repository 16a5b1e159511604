import type { Logger } from 'pino'
import { type Database, openDatabase } from '../../program/app/open-database.ts'
import type { Config } from '../../program/config/config.ts'
import { type GuardedReader, makeGuardedReader } from './guarded-reader.ts'
import { mcpSettings } from './settings.ts'

/**
 * Makes a reader for statements of assistants. The database is opened at the first of them, and again after a failure; `close`
 * releases it. `account` is the only account that can be read; undefined: all of them.
 */
export function makeAssistantReader(
  config: Config,
  log: Logger,
  options: { account: string | undefined; signal: AbortSignal },
): GuardedReader & { close(): Promise<void> } {
  let database: Promise<Database> | undefined
  const find = async () => {
    const opening = database ?? openDatabase(config, log, options.signal)
    database = opening
    opening.catch(() => {
      if (database === opening) database = undefined
    })
    const { url } = await opening
    return { ...loginOptions(config), connectionString: url, account: options.account }
  }
  const { read } = makeGuardedReader({ log, find })
  return {
    read,
    async close() {
      await (await database?.catch(() => undefined))?.close()
    },
  }
}

/** Returns how assistants sign in to the database of a configuration. */
export function loginOptions(config: Pick<Config, 'databaseUrl' | 'features'>) {
  return { ...mcpSettings.of(config), wholeServer: config.databaseUrl === undefined }
}
