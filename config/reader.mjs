// Makes a login for analysts, which reads schema `training` and nothing else, and prints its connection URL once:
//   node config/reader.mjs [NAME] [--password-stdin] [--statement-timeout 60s]
// NAME is `analyst` unless given. Typed again, it gives the login a new password. A statement may take 5 minutes unless
// told otherwise. It works on the embedded Postgres, or
// on DATABASE_URL (or DATABASE_URL_FILE), whose user must be allowed to create roles.
import { parseArgs } from 'node:util'

const { readConfig } = await built('config/config.js')
const { makeReader } = await built('app/reader.js')
const { exitFor } = await built('cli/context.js')
const { readInput } = await built('cli/prompt.js')
const { parseDuration } = await built('kit/time.js')
const { makeLogger } = await built('log.js')

try {
  await main()
} catch (error) {
  const usage = String(error?.code).startsWith('ERR_PARSE_ARGS')
  const exit = usage ? { code: 2, sentence: `musette: ${error.message}` } : exitFor(error)
  say(exit.sentence)
  process.exitCode = exit.code
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'password-stdin': { type: 'boolean' }, 'statement-timeout': { type: 'string' } },
  })
  const timeout = values['statement-timeout']
  const statementTimeoutMs = timeout === undefined ? undefined : parseDuration(timeout)
  if (positionals.length > 1 || (timeout !== undefined && !statementTimeoutMs)) {
    say('usage: node config/reader.mjs [NAME] [--password-stdin] [--statement-timeout 60s]')
    process.exitCode = 2
    return
  }
  const name = positionals[0] ?? 'analyst'
  const password = values['password-stdin']
    ? (await readInput(process.stdin)).replace(/\r?\n$/, '')
    : undefined
  const config = readConfig()
  const log = makeLogger({ level: 'warn', terminal: Boolean(process.stderr.isTTY) })
  const reader = await makeReader(config, log, { name, password, statementTimeoutMs })
  tell(name, config, reader)
}

/** The URL alone goes to standard output. */
function tell(name, config, { url, writableSchemas, openRights }) {
  const { hostname, port, pathname } = new URL(url)
  const bare = new URL(url)
  bare.password = ''
  bare.searchParams.delete('password')
  say(
    `musette: login "${name}" reads schema training; its password stands in this URL and is not shown again`,
  )
  process.stdout.write(`${url}\n`)
  say(`psql asks for the password, which keeps it from the list of processes: psql ${bare.href}`)
  say('Metabase and DuckDB take the URL as it is; Grafana asks for its parts:')
  say(
    `host ${hostname}:${port || 5432}, database ${decodeURIComponent(pathname.slice(1))}, user ${name}, the password`,
  )
  if (!config.databaseUrl) {
    say('TLS/SSL mode: disable')
    say(
      'the embedded Postgres answers while a musette runs; to keep it up for other programs, run: musette db-url',
    )
  }
  for (const schema of writableSchemas) {
    say(
      `every login of this server may create tables in schema ${schema}; an administrator ends that with: REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC`,
    )
  }
  if (openRights.length > 0) {
    say(
      `the login may use ${openRights.join(', ')}, as every login of this server, and could hold up musette or fill the disk; a superuser ends that, and gives it a new password, with: DATABASE_URL=postgres://superuser:…@host:5432/database node config/reader.mjs ${name}`,
    )
  }
}

async function built(path) {
  try {
    return await import(`../dist/${path}`)
  } catch (error) {
    if (error?.code !== 'ERR_MODULE_NOT_FOUND') throw error
    say('musette: it is not built yet; run: npm ci')
    process.exit(2)
  }
}

function say(line) {
  process.stderr.write(`${line}\n`)
}
