import { InvalidArgumentError } from 'commander'
import { parseDuration } from '../../kit/time.ts'
import type { Config } from '../../program/config/config.ts'
import { defineFeature } from '../../program/frame/define-feature.ts'
import { ASKS, DATABASE } from '../../program/frame/help-of-verbs.ts'
import { readInput } from '../../program/frame/prompt.ts'
import { defineVerb, flag, option } from '../../program/frame/verb.ts'
import type { ReaderLogin } from './reader.ts'

const dbUrlVerb = defineVerb({
  name: 'db-url',
  description:
    'print the connection URL for other programs; the embedded Postgres stops ten minutes after the last program disconnects',
  options: {
    withPassword: flag('--with-password', 'include the password, for programs without password files'),
  },
  help: { settings: DATABASE, exits: ASKS, examples: ['psql "$(musette db-url)"'] },
  needs: 'nothing',
  async run(tools, options): Promise<undefined> {
    const { findSharedMismatch, shareDatabaseUrl } = await import('./shared-database.ts')
    tools.print(await shareDatabaseUrl(tools, { ...options, signal: tools.signal }))
    const mismatch = await findSharedMismatch(tools.config)
    if (mismatch !== undefined) tools.note(`musette: ${mismatch}`)
  },
})

/** The background process of `db-url`. */
const dbHoldVerb = defineVerb({
  name: 'db-hold',
  description: 'keep the embedded Postgres running while another program is connected',
  hidden: true,
  needs: 'nothing',
  withoutDataDir: true,
  async run(tools): Promise<undefined> {
    const { holdDatabase } = await import('./shared-database.ts')
    // The parent process waits for one message, unless it has already exited.
    const report = (message: object) => void (process.connected && process.send?.(message))
    await holdDatabase({ ...tools, report }, { signal: tools.signal })
  },
})

const readerVerb = defineVerb({
  name: 'reader [name]',
  description: 'create a login that can read only schema training, or give it a new password; print its URL',
  options: {
    account: option('--account <account>', 'show only the rows of this account; needs Postgres 15'),
    passwordStdin: flag('--password-stdin', 'read the password from standard input; default: generated'),
    statementTimeoutMs: option(
      '--statement-timeout <duration>',
      'timeout of a statement; default: 5m',
      parseTimeout,
    ),
  },
  help: {
    settings: DATABASE,
    exits: ASKS,
    examples: ['musette reader grafana --statement-timeout 1m', 'musette reader coach --account anna'],
  },
  needs: 'nothing',
  // Only the URL goes to standard output.
  async run({ config, log, signal, print, note }, input): Promise<undefined> {
    const { name = 'analyst', account, passwordStdin, statementTimeoutMs } = input
    const password = passwordStdin
      ? (await readInput(process.stdin, signal)).replace(/\r?\n$/, '')
      : undefined
    const { upsertReader } = await import('./reader.ts')
    const reader = await upsertReader(config, log, { name, password, statementTimeoutMs, account, signal })
    note(
      `musette: login "${name}" reads ${account === undefined ? 'schema training' : `the rows of account "${account}" in schema training`}; its password is in this URL and is not shown again`,
    )
    print(reader.url)
    for (const line of adviceFor(name, config, reader)) note(line)
  },
})

function adviceFor(
  name: string,
  config: Config,
  { url, writableSchemas, openRights }: ReaderLogin,
): string[] {
  const { hostname, port, pathname, searchParams } = new URL(url)
  const bare = new URL(url)
  bare.password = ''
  bare.searchParams.delete('password')
  const lines = [
    `psql asks for the password, so that the process list does not show it: psql ${bare.href}`,
    'Metabase and DuckDB accept the URL; Grafana needs its parts:',
    `host ${searchParams.get('host') ?? hostname}:${searchParams.get('port') ?? (port || 5432)}, database ${decodeURIComponent(pathname.slice(1))}, user ${name}, the password`,
  ]
  if (!config.databaseUrl) {
    lines.push(
      'TLS/SSL mode: disable',
      'the embedded Postgres runs only while musette runs; to keep it running for other programs, run: musette db-url',
    )
  }
  for (const schema of writableSchemas) {
    lines.push(
      `every login of this server may create tables in schema ${schema}; an administrator can revoke this with: REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC`,
    )
  }
  if (openRights.length > 0) {
    lines.push(
      `every login of this server may use ${openRights.join(', ')}, so this login could block musette or fill the disk; a superuser can revoke this and set a new password with: DATABASE_URL=postgres://superuser:…@host:5432/database musette reader ${name}`,
    )
  }
  return lines
}

function parseTimeout(text: string): number {
  const milliseconds = parseDuration(text)
  if (milliseconds) return milliseconds
  throw new InvalidArgumentError('It is not a duration, such as 60s.')
}

export const reader = defineFeature({
  name: 'reader',
  verbs: { after: 'migrate', all: [dbUrlVerb, dbHoldVerb, readerVerb] },
  copyLogins: async () => (await import('./reader.ts')).copyReaders,
  prepare: async (app) => (await import('./reader.ts')).renewReaders(app),
})
