import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../../kit/errors.ts'
import { parseRedisUrl, redisCliAddress, sentinelCli } from '../../kit/redis/redis-url.ts'
import { quoteShell } from '../../kit/text.ts'
import type { Config } from '../config/config.ts'

/** What a person can do after a failure: `hint` is a phrase without a command, `run` a command. */
export type Remedy = Readonly<{ hint?: string | undefined; run?: string | undefined }>

/** The settings that a remedy names. */
export type RemedyConfig = Pick<
  Config,
  'databaseUrl' | 'redisUrl' | 'dataDir' | 'setIn' | 'settingsFile' | 'features'
> & {
  service: Pick<Config['service'], 'baseUrl'>
}

const EXPORT = /^export (\w+)=(.*)$/
const OF_URL = /"\$(?:REDIS|DATABASE)_URL"/g

/**
 * Adapts a command to the place of the settings. `export NAME=value` becomes a change of the settings file's line that sets the variable,
 * or a new line in the settings file of the data directory, which every shell and service reads. For a variable of the environment,
 * `export` stays. Variables with URLs, which a shell may not have, become addresses; the program then asks for the password.
 */
export function fitCommand(command: string, config: Omit<RemedyConfig, 'service' | 'features'>): string {
  const { setIn, settingsFile, databaseUrl, redisUrl } = config
  const [, name = '', value = ''] = EXPORT.exec(command) ?? []
  const place = setIn[name] ?? (name === 'MUSETTE_DATA_DIR' ? '' : settingsFile)
  const isFile = name !== '' && place !== ''
  if (isFile && setIn[name])
    return `sed -i.old "s|^\\(export \\)*${name}=.*|${name}=${value}|" ${quoteShell(place)}`
  if (isFile) {
    const make = existsSync(dirname(place)) ? '' : `mkdir -p -m 700 ${quoteShell(dirname(place))} && `
    return `${make}(umask 077; printf '\\n%s\\n' ${name}=${value} >> ${quoteShell(place)})`
  }
  return command.replace(
    OF_URL,
    (found) => (found.includes('REDIS') ? redisCliAddress(redisUrl ?? '') : addressOf(databaseUrl)) ?? found,
  )
}

/** Formats the address of a database for pg_isready, without secrets. */
function addressOf(url = ''): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, host, pathname, searchParams } = new URL(url)
  const servers = new URLSearchParams(
    [...searchParams].filter(([name]) => name === 'host' || name === 'port'),
  )
  return quoteShell(`${protocol}//${host}${pathname}${servers.size > 0 ? `?${servers}` : ''}`)
}

const AGAIN: Remedy = { hint: 'run it again' }
const LATER: Remedy = { hint: 'the service has a problem at the moment; run it again later' }
const CLIENT: Remedy = { hint: 'check MUSETTE_CLIENT_ID and MUSETTE_CLIENT_SECRET' }

/** The remedies of error codes whose messages contain no remedy. */
const REMEDIES: Readonly<Record<string, (config: RemedyConfig) => Remedy>> = {
  database_unreachable: ofDatabase,
  database_disk_full: ofFullDisk,
  embedded_damaged: ofDamagedFiles,
  embedded_start_failed: ofDatabase,
  database_memory: () => AGAIN,
  database_limit: () => ({ hint: 'raise that setting of the server' }),
  database_busy: () => ({ hint: 'run it again in a moment' }),
  database_error: () => ({ hint: 'run it again with MUSETTE_LOG_LEVEL=debug' }),
  database_damaged: () => ({ hint: 'the doctor names the tables and what to do', run: 'musette doctor' }),
  queue_unreachable: (config) =>
    config.redisUrl === undefined ? ofDatabase(config) : ofRedis(config.redisUrl),
  connect_failed: (config) => ({ hint: 'check MUSETTE_BASE_URL and the network', ...probeOf(config) }),
  connection_lost: (config) => ({
    hint: 'check whether MUSETTE_BASE_URL must begin with https: or http:',
    ...probeOf(config),
  }),
  timeout: () => AGAIN,
  server_error: () => LATER,
  refresh_pending: () => LATER,
  account_moved: () => AGAIN,
  rate_limited: () => ({ hint: 'the service limits the rate of requests; run it again later' }),
  not_json: ofWrongAddress,
  rejected: ofWrongAddress,
  redirect_refused: ofWrongAddress,
  invalid_client: () => CLIENT,
  unauthorized_client: () => CLIENT,
}

/** Returns the remedy of an error by its code; empty if the message already has a remedy. */
export function remedyOf(error: unknown, config: RemedyConfig): Remedy {
  const { hint, run } = REMEDIES[errorCode(error)]?.(config) ?? {}
  return { hint, run: run && fitCommand(run, config) }
}

/** Returns a sentence with its remedy, as every verb prints it. */
export function withRemedy(sentence: string, { hint, run }: Remedy): string {
  const parts = [sentence, hint, run && `run: ${run}`].filter((part) => part !== undefined)
  return parts.join('; ').replace('?; ', '? ')
}

function ofDatabase({ databaseUrl, dataDir }: RemedyConfig): Remedy {
  if (databaseUrl !== undefined)
    return {
      hint: 'check DATABASE_URL, and whether the database is running',
      run: 'pg_isready -d "$DATABASE_URL"',
    }
  return { run: `tail ${quoteShell(join(dataDir, 'postgres.log'))}` }
}

function ofFullDisk({ databaseUrl, dataDir }: RemedyConfig): Remedy {
  if (databaseUrl !== undefined)
    return { hint: 'make room on the disk of the database server, and try again', run: 'musette doctor' }
  return { hint: 'make room', run: `df -h ${quoteShell(dataDir)}` }
}

/** Makes the remedy for damaged files: move them away first, because a restore fills only an empty database. */
function ofDamagedFiles(config: RemedyConfig): Remedy {
  const files = join(config.dataDir, 'postgres')
  let kept = `${files}.damaged`
  for (let number = 2; existsSync(kept); number += 1) kept = `${files}.damaged-${number}`
  const away = `mv ${quoteShell(files)} ${quoteShell(kept)}`
  const backup = readNewestBackup(config)
  if (backup === undefined)
    return {
      hint: 'the backup folder has no backup, but the service still has the activities; move the files away and sign in again',
      run: `${away} && musette login`,
    }
  return { hint: 'restore the newest backup', run: `${away} && musette restore ${quoteShell(backup)}` }
}

/** Lists the names in a folder; returns an empty list if the folder cannot be read, so that no other error is hidden. */
function readNames(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return []
  }
}

/** Returns the path of the newest scheduled backup, or undefined if there is none. */
export function readNewestBackup(config: Pick<RemedyConfig, 'features' | 'dataDir' | 'databaseUrl'>) {
  for (const { backups } of config.features.keys()) {
    const { dir, names } = backups?.(config) ?? {}
    const kept = dir === undefined ? [] : readNames(dir).filter((name) => names?.test(name))
    if (dir !== undefined && kept.length > 0) return join(dir, kept.sort().at(-1) ?? '')
  }
  return undefined
}

function ofRedis(url: string): Remedy {
  const hint = 'check REDIS_URL (redis: without TLS, rediss: with TLS), and whether Redis is running'
  const address = parseRedisUrl(url)
  if (!address?.group) return { hint, run: 'redis-cli -u "$REDIS_URL" ping' }
  return { hint, run: `${sentinelCli(address)} ckquorum ${quoteShell(address.group)}` }
}

function probeOf({ service: { baseUrl } }: RemedyConfig): Remedy {
  return baseUrl === undefined ? {} : { run: `curl -I ${quoteShell(baseUrl)}` }
}

function ofWrongAddress({ service: { baseUrl } }: RemedyConfig): Remedy {
  const hint = 'check MUSETTE_BASE_URL: the server at that address may not be the service'
  return { hint, ...(baseUrl !== undefined && { run: `curl -i ${quoteShell(`${baseUrl}/oauth/workout`)}` }) }
}
