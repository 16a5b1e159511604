import { join } from 'node:path'
import { QUEUE_CONNECTIONS } from '../../core/jobs/backend.ts'
import {
  type DatabaseFacts,
  findDatabaseFacts,
  findUnreadableTables,
} from '../../core/store/database-facts.ts'
import { checkServer } from '../../core/store/migration/check-server.ts'
import { findPartitioning } from '../../core/store/samples/partitions.ts'
import type { Store } from '../../core/store/store.ts'
import { tryRoom, tryWrite } from '../../core/store/try-write.ts'
import { ConfigError, errorCode } from '../../kit/errors.ts'
import { formatBytes, quoteShell } from '../../kit/text.ts'
import { formatMoment, SECOND } from '../../kit/time.ts'
import { CONNECTIONS_BESIDE_FETCHES } from '../app/local-app.ts'
import { readNewestBackup, remedyOf } from '../app/remedy.ts'
import { type Finding, ok, problem, problemOf, warning } from '../frame/findings/finding.ts'
import { type DoctorContext, findListed } from './doctor-context.ts'

const MIN_VERSION = 14
/** Connections kept free for `status`, `sync`, `sql`, a migration and the doctor while the daemon runs. */
const CONNECTIONS_OF_VERBS = 8
/** How long one table is read to find damage, ms. */
const LOOK_WITHIN_MS = 4 * SECOND

/** Checks that the database answers, has this version, and has room for all connections of a daemon. */
export async function checkDatabase(context: DoctorContext): Promise<Finding[]> {
  const { config, database } = context
  const which = config.databaseUrl ? 'DATABASE_URL' : 'the embedded Postgres'
  const found = await database()
  if (found.kind === 'none') return [ok('there is no embedded Postgres yet; the first login makes it')]
  if (found.kind === 'away') return [problemOf(found.error, remedyOf(found.error, config))]
  const needed = connectionsOf(config)
  const facts = await found.store.read((tx) => findDatabaseFacts(tx, needed))
  const isOwn = config.databaseUrl === undefined
  const unfit = await found.store.read(({ client }) => checkServer(client, found.url)).catch((error) => error)
  const findings = [
    ...(unfit ? [problemOf(unfit)] : schemaFindings(found.mismatch, isOwn)),
    ...serverFindings(facts, needed),
    ...(unfit ? [] : await writeFindings(found.store, { config, facts, bare: found.mismatch !== undefined })),
    ...(facts.checksum_failures === 0
      ? []
      : [
          damageFinding(facts, {
            unreadable: await findUnreadableTables(found.store, LOOK_WITHIN_MS),
            config,
          }),
        ]),
    ...(unfit || found.mismatch ? [] : await findListed(context, 'database')),
  ]
  if (findings.some(({ state }) => state === 'problem')) return findings
  const parts = found.mismatch ? [] : await found.store.read((tx) => findPartitioning(tx))
  const server = found.store.server()
  const at = isOwn || server === undefined ? '' : ` at ${server}`
  return [
    ok(`${which}${at}, Postgres ${facts.version}, ${formatBytes(facts.size_bytes)}`),
    ...parts.map((part) => ok(part)),
    ...findings,
  ]
}

/** Tries a write. With `bare`, our tables may not exist, so a table is created and rolled back. */
async function writeFindings(
  store: Store,
  { config, facts, bare }: { config: DoctorContext['config']; facts: DatabaseFacts; bare: boolean },
): Promise<Finding[]> {
  const undo = new ConfigError('rolled_back', 'a write that was only tried')
  const tried = store.transaction(async (tx) => {
    if (!bare) return tryWrite(tx)
    await tx.client.query('CREATE SCHEMA musette_doctor')
    await tryRoom(tx.client)
    throw undo
  })
  const error = await tried.catch((thrown: unknown) => thrown)
  if (error === undefined || error === undo) return []
  const source = errorCode(error) === 'database_read_only' && facts.read_only_by
  if (!source) return [problemOf(error, remedyOf(error, config))]
  const hint = `default_transaction_read_only is on by the settings of the ${source}`
  if (!/database|user/.test(source))
    return [
      problemOf(error, { hint: `${hint}, as when a host protects a full disk; ask whoever runs the server` }),
    ]
  // A setting of the user overrides a setting of the database.
  const run = 'musette sql --write "alter role current_user set default_transaction_read_only = off"'
  return [problemOf(error, { hint, run })]
}

/** Names unreadable tables, because the server counts damaged pages without naming their tables. */
export function damageFinding(
  facts: DatabaseFacts,
  { unreadable, config }: { unreadable: readonly string[]; config: DoctorContext['config'] },
): Finding {
  const { checksum_failures: count, checksum_last_failure: last } = facts
  const found = `the disk gave the server ${count} damaged pages${last ? `, the last on ${formatMoment(last)}` : ''}`
  if (unreadable.length === 0)
    return warning(
      `${found}; every table could be read just now; look at the disk`,
      `musette backup ${quoteShell(join(config.dataDir, 'by-hand.tar'))}`,
    )
  const backup = readNewestBackup(config)
  const mend = backup
    ? 'stop musette, keep a copy of its files, and restore the newest backup into an empty database'
    : 'no backup is in the folder of backups: see "A damaged page" in docs/troubleshooting.md'
  const run = backup && `musette restore ${quoteShell(backup)}`
  return problem('unexpected', `${found}; ${unreadable.join(', ')}; ${mend}`, run)
}

/** The number of connections that a daemon and verbs may open at once. */
function connectionsOf(config: DoctorContext['config']): number {
  const ofQueue = config.redisUrl ? 0 : QUEUE_CONNECTIONS
  const ofDaemon = config.service.concurrency + CONNECTIONS_BESIDE_FETCHES
  return ofDaemon + ofQueue + CONNECTIONS_OF_VERBS
}

function schemaFindings(mismatch: unknown, isOwn: boolean): Finding[] {
  if (!mismatch) return []
  if (errorCode(mismatch) === 'database_empty') return [ok('it is empty; the first login sets it up')]
  const isBehind = errorCode(mismatch) === 'database_unmigrated'
  if (!isBehind) return [problemOf(mismatch)]
  const found = 'it is older than this version of musette'
  return isOwn
    ? [warning(`${found}; the next start of any verb mends that`, 'musette migrate')]
    : [problem('configuration', found, 'musette migrate')]
}

/** Makes findings about a server's version and settings; `needed` connections may be open at once. */
export function serverFindings(facts: DatabaseFacts, needed: number): Finding[] {
  const findings: Finding[] = []
  if (facts.version_number < MIN_VERSION * 10_000) {
    const found = `Postgres ${facts.version} is too old: ${MIN_VERSION} is the least; upgrade it, or unset DATABASE_URL for the embedded one`
    findings.push(problem('configuration', found))
  }
  const free = facts.connections - facts.connections_of_others
  if (free < needed) {
    const found = `${free} connections are left for musette, which may need ${needed}; raise max_connections and restart Postgres`
    const most = facts.connections_of_others + needed + 10
    findings.push(ofAdministrator(facts, found, `alter system set max_connections = ${most}`))
  }
  if (facts.limits.length > 0) {
    const found = `fewer connections than the ${needed} that musette may need are allowed to this login`
    findings.push(warning(`${found}; let an administrator of the server type: ${facts.limits.join('; ')}`))
  }
  if (!facts.autovacuum) {
    const found = 'autovacuum is off, so tables grow and become slow'
    findings.push(
      ofAdministrator(facts, found, 'alter system set autovacuum = on', 'select pg_reload_conf()'),
    )
  }
  if (facts.creators_in_public.length > 0) {
    const found = `other roles may create functions in schema public, which a program without a search_path of its own may run: ${facts.creators_in_public.join(', ')}`
    // A name may contain a shell command.
    const plain = facts.creators_in_public.filter((name) => /^[a-z_][a-z0-9_]*$/.test(name))
    const run = `musette sql --write "revoke create on schema public from ${['public', ...plain].join(', ')}"`
    findings.push(warning(found, run))
  }
  return findings
}

/** Makes a warning with separate statements for a superuser, because ALTER SYSTEM must stand alone. */
function ofAdministrator(facts: DatabaseFacts, found: string, ...statements: string[]): Finding {
  const commands = statements.map((statement) => `musette sql --write "${statement}"`)
  return facts.is_superuser
    ? warning(found, commands.join(' && '))
    : warning(`${found}; let an administrator of the server type: ${statements.join('; ')}`)
}
