import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { errorCode } from '../kit/errors.ts'
import { quoteShell } from '../kit/text.ts'

/** What a person does after a failure: `hint` is a phrase without a command, `run` a command. */
export type Remedy = Readonly<{ hint?: string | undefined; run?: string | undefined }>

/** The settings that a remedy names. */
export type RemedyConfig = Pick<Config, 'databaseUrl' | 'redisUrl' | 'dataDir'> & {
  service: Pick<Config['service'], 'baseUrl'>
}

const LATER: Remedy = { hint: 'the service does not work at the moment; run it again later' }
const CLIENT: Remedy = { hint: 'look at MUSETTE_CLIENT_ID and MUSETTE_CLIENT_SECRET' }

/** The remedy of each code whose message does not name one. */
const REMEDIES: Readonly<Record<string, (config: RemedyConfig) => Remedy>> = {
  database_unreachable: ofDatabase,
  database_busy: () => ({ hint: 'run it again in a moment' }),
  database_error: () => ({ hint: 'run it again with MUSETTE_LOG_LEVEL=debug' }),
  database_damaged: () => ({ hint: 'the doctor names the tables and what to do', run: 'musette doctor' }),
  queue_unreachable: (config) => (config.redisUrl === undefined ? ofDatabase(config) : ofRedis()),
  connect_failed: (config) => ({ hint: 'look at MUSETTE_BASE_URL and the network', ...probeOf(config) }),
  certificate_refused: probeOf,
  timeout: () => ({ hint: 'run it again' }),
  server_error: () => LATER,
  refresh_pending: () => LATER,
  account_moved: () => ({ hint: 'run it again' }),
  rate_limited: () => ({ hint: 'the service limits the rate of requests; run it again later' }),
  not_json: ofWrongAddress,
  rejected: ofWrongAddress,
  invalid_client: () => CLIENT,
  unauthorized_client: () => CLIENT,
}

/** Returns what a person does after an error, by its code; empty where its message says so itself. */
export function remedyOf(error: unknown, config: RemedyConfig): Remedy {
  return REMEDIES[errorCode(error)]?.(config) ?? {}
}

/** Returns a sentence with its remedy, as every verb prints it. */
export function withRemedy(sentence: string, { hint, run }: Remedy): string {
  return [sentence, hint, run && `run: ${run}`].filter((part) => part !== undefined).join('; ')
}

// A URL may hold a password, so the commands name the variable and not its value.
function ofDatabase({ databaseUrl, dataDir }: RemedyConfig): Remedy {
  if (databaseUrl !== undefined)
    return {
      hint: 'look at DATABASE_URL, and whether the database runs',
      run: 'pg_isready -d "$DATABASE_URL"',
    }
  return { hint: 'its disk may be full', run: `tail ${quoteShell(join(dataDir, 'postgres.log'))}` }
}

function ofRedis(): Remedy {
  return { hint: 'look at REDIS_URL, and whether Redis runs', run: 'redis-cli -u "$REDIS_URL" ping' }
}

function probeOf({ service: { baseUrl } }: RemedyConfig): Remedy {
  return baseUrl === undefined ? {} : { run: `curl -I ${quoteShell(baseUrl)}` }
}

function ofWrongAddress({ service: { baseUrl } }: RemedyConfig): Remedy {
  const hint = 'look at MUSETTE_BASE_URL: the server at that address may not be the service'
  return { hint, ...(baseUrl !== undefined && { run: `curl -i ${quoteShell(`${baseUrl}/oauth/workout`)}` }) }
}
