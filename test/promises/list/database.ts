import type { Breaking } from '../promises.ts'

const TERMINATED_MIGRATION: Omit<Breaking, 'promise'> = {
  in: 'src/store/migrate.ts',
  from: 'for (const statement of sql) await client.query(statement)',
  to: "for (const statement of sql) await client.query(statement).then(() => client.query('COMMIT; BEGIN'))",
}
const TRIGGERS_LEFT_ON: Omit<Breaking, 'promise'> = {
  in: 'src/store/triggers.ts',
  from: "await setAll(before, 'DISABLE')",
  to: "await setAll([], 'DISABLE')",
}
const UNLOCKED_MIGRATION: Omit<Breaking, 'promise'> = {
  in: 'src/store/migration/migration-lock.ts',
  from: 'await client.query(`LOCK TABLE ${VIEW} IN SHARE UPDATE EXCLUSIVE MODE`)',
  to: 'await client.query(`SELECT FROM ${VIEW}`)',
}

/** Breaks what docs/guarantees.md promises under "The database". */
export const DATABASE: readonly Breaking[] = [
  {
    promise: 'A command that runs the embedded Postgres keeps it until the pass of another command has ended',
    in: 'src/app/local-app.ts',
    from: 'if (passes.length === 0) return',
    to: 'if (passes.length >= 0) return',
  },
  {
    promise: 'A pooler with too few connections is named, with how many there are and how many it takes',
    in: 'src/kit/postgres-client.ts',
    from: 'if (errorCode(error) !== UNANSWERED || open.size === 0) throw error',
    to: 'throw error',
  },
  {
    promise: 'A connection that the server ends while nobody listens to it does not end the process',
    in: 'src/kit/postgres-client.ts',
    from: "(event !== 'error' || this.listenerCount(event) > 0) && ",
    to: '',
  },
  {
    promise:
      'No setting of the server, the database or the role, no variable of the shell, no locale and no umask changes what is mirrored, or the reason is named',
    in: 'src/kit/postgres-client.ts',
    from: "('DateStyle', 'ISO, MDY'), ",
    to: '',
  },
  {
    promise: 'A connection that died in silence is ended on both sides, and its locks are free',
    in: 'src/kit/postgres-client.ts',
    from: 'CASE WHEN dead THEN pg_terminate_backend(pid) END',
    to: 'dead',
  },
  {
    promise: '… also one that is idle or listens',
    in: 'src/kit/postgres-client.ts',
    from: "if (!typed) client.query('').catch(() => undefined)",
    to: '',
  },
  {
    promise: '… and one whose statement runs long stays',
    in: 'src/kit/postgres-client.ts',
    from: '(rows[0] ? rows[0].dead : session !== null || null)',
    to: 'true',
  },
  {
    promise:
      'What is committed survives a crash, as far as Postgres promises it; the embedded one runs with all its safety on',
    in: 'src/embedded/cluster.ts',
    from: 'min_wal_size = 80MB',
    to: 'fsync = off',
  },
  {
    promise:
      '`musette migrate` is all or nothing, wherever it or its session is killed; the next one completes it',
    ...TERMINATED_MIGRATION,
  },
  { promise: '… also when the database was empty', ...TERMINATED_MIGRATION },
  {
    promise: '… and the next one need not wait for a long query of one that was killed',
    in: 'src/store/migrate.ts',
    from: 'SET client_connection_check_interval = ${CLIENT_CHECK_MS}',
    to: 'SET client_connection_check_interval = 0',
  },
  {
    promise: '… and the rows that it rewrites are no changes in `training.changes`',
    ...TRIGGERS_LEFT_ON,
  },
  {
    promise:
      'Each version upgrades the databases that every release from 1.0.0 on made, without a change of what they hold',
    ...TRIGGERS_LEFT_ON,
  },
  { promise: 'Several at once apply each step once', ...UNLOCKED_MIGRATION },
  {
    promise: 'An empty database is set up once, however many programs begin at the same time',
    ...UNLOCKED_MIGRATION,
  },
  {
    promise: 'The database of another program gets no tables of musette unless `musette migrate` is typed',
    in: 'src/store/migration/schema-version.ts',
    from: 'if (!found || !(found.in_our_place || anywhere)) return',
    to: 'if (!found?.in_our_place) return',
  },
  {
    promise:
      '`musette migrate --plan` names each table that a migration locks, reads, changes or writes anew',
    in: 'drizzle/effects.json',
    from: '"musette.credentials": {',
    to: '"musette.locks": {',
  },
  {
    promise: '… with the locks that every migration takes, and changes nothing',
    in: 'src/store/migration/migration-plan.ts',
    from: "if (has_trigger) works.push({ waits: 'writes', work: 'none' })",
    to: "if (has_trigger) works.push({ waits: 'none', work: 'none' })",
  },
  {
    promise: 'A database of an older or newer version is read, with a warning, and not backed up in part',
    in: 'src/app/open-database.ts',
    from: 'return version < target ? outdated().message : undefined',
    to: 'return version > target ? outdated().message : undefined',
  },
  {
    promise: 'A database whose encoding lacks letters is refused before anything is made in it',
    in: 'src/store/migration/check-server.ts',
    from: "if (encoding !== 'UTF8') throw wrongEncoding(encoding)",
    to: "if (encoding === '') throw wrongEncoding(encoding)",
  },
  {
    promise: 'A pooler that pools by transaction is refused with what to write instead',
    in: 'src/store/migration/check-server.ts',
    from: 'return other === pid || (await findPid(one)) !== pid',
    to: 'return false',
  },
  {
    promise: '… and one that pools by session is as good as none',
    in: 'src/store/migration/check-server.ts',
    from: 'return other === pid || (await findPid(one)) !== pid',
    to: 'return true',
  },
  {
    promise:
      'Limits in time that an administrator sets for all sessions of the server end no work of musette; those of `musette sql` and of reading logins hold',
    in: 'src/kit/postgres-client.ts',
    from: "('statement_timeout', '0'), ",
    to: '',
  },
  {
    promise:
      'A connection that is lost in the middle of a COPY leaves nothing behind, and the next attempt writes all',
    in: 'src/store/store.ts',
    from: "within('BEGIN', fn)",
    to: "within('SELECT 1', fn)",
  },
  {
    promise: 'A standby is refused with what to write, before anything is tried',
    in: 'src/store/migration/check-server.ts',
    from: 'if (standby) throw readOnly()',
    to: "if (standby && encoding === '') throw readOnly()",
  },
  {
    promise:
      'A server with too few connections slows musette down and is named as the reason; nothing fails for good',
    in: 'src/jobs/backend.ts',
    from: "if (errorCode(error) === REFUSED && error.cause) return unreachableQueue('postgres', error.cause)",
    to: "if (errorCode(error) === REFUSED && !error.message) return unreachableQueue('postgres', error.cause)",
  },
  {
    promise:
      'A server that takes no writes, is full or refuses a login is asked about twice a second by the queue in Postgres, not a hundred times, and on the connection that is open',
    in: 'src/jobs/backend.ts',
    from: '/^(08|28|3D|53|57P|58|F0|XX|25006)/',
    to: '/^(08|28|3D|53|57P|58|F0|XX)/',
  },
  {
    promise:
      'A damaged page of the database is named with its table, and what can be made anew is made anew without the service',
    in: 'src/store/database-errors.ts',
    from: '/^XX00[12]$/',
    to: '/^XX002$/',
  },
  {
    promise:
      'A database that takes no writes by its settings is found before work fails, with a command that ends it',
    in: 'src/doctor/check-database.ts',
    from: 'return error === undo ? []',
    to: 'return error ? []',
  },
  {
    promise: 'Rows that were read before an error never pass for all of them',
    in: 'src/store/copy.ts',
    from: 'const stream = copyTo(`COPY ${source} TO STDOUT (FORMAT binary)`)',
    to: 'const stream = Object.assign(copyTo(`COPY ${source} TO STDOUT (FORMAT binary)`), { handleError: () => void stream.push(null) })',
  },
  {
    promise: "The embedded database of another user stays that user's, also after a command of root",
    in: 'src/embedded/run-as.ts',
    from: 'const users = [await readOwner(dataDir), await readServerUser()]',
    to: 'const users = [await readServerUser(), await readOwner(dataDir)]',
  },
  {
    promise: 'A job that another program put into the queue ends with a sentence and holds nothing up',
    in: 'src/jobs/catalog.ts',
    from: 'if (parsed.success) return parsed.data',
    to: 'if (parsed.success || schema) return schema.parse(payload)',
  },
  {
    promise:
      'A daemon whose scan of the drop folder does not end, or whose disk does not answer, is not ready and says so',
    in: 'src/daemon/probes.ts',
    from: "files: disk.status === 'fulfilled' ?",
    to: 'files: disk.status ?',
  },
  {
    promise: 'An account that signs in beside a daemon is mirrored at once',
    in: 'src/daemon/account-watch.ts',
    from: 'if (payloads.length > 0) for',
    to: 'if (payloads.length < 0) for',
  },
  {
    promise: '… and says that the file is damaged, whichever name, number or part of it has changed',
    in: 'src/backup/restore-backup.ts',
    from: 'if (!MAY_BE_DAMAGE.has(errorCode(mapped))) throw error',
    to: 'if (MAY_BE_DAMAGE) throw error',
  },
  {
    promise:
      'What others made in the schemas `training` and `musette` is in no backup, and the command names it',
    in: 'src/store/backup/foreign-parts.ts',
    from: '(name !== null && own.names.has(name)) ||',
    to: 'name !== null ||',
  },
  {
    promise: 'A daemon that starts before its database or its Redis waits for them and says for which',
    in: 'src/daemon/wait-for-servers.ts',
    from: 'if (Object.keys(parts).length === 0) return',
    to: 'if (Object.keys(parts).length >= 0) return',
  },
  {
    promise: 'What a daemon of the version before wrote without a derived value is completed',
    in: 'src/store/samples/unmeasured.ts',
    from: 'c.sport) > 0))`',
    to: 'c.sport) > 4))`',
  },
  {
    promise: 'A deadlock with the query of another costs the migration an attempt and nothing else',
    in: 'src/store/migrate.ts',
    from: 'if (sqlstateOf(error) !== DEADLOCK_DETECTED || attempt === MOST_ATTEMPTS) throw error',
    to: 'if (sqlstateOf(error) !== DEADLOCK_DETECTED || attempt > 0) throw error',
  },
  {
    promise: 'A daemon of the version before stops within a minute of a migration, and loses nothing',
    in: 'src/daemon/schema-watch.ts',
    from: 'if (error instanceof ConfigError) return onChanged(error)',
    to: 'if (error instanceof ConfigError && everyMs === 0) return onChanged(error)',
  },
  {
    promise: 'A backup is the whole database at one moment',
    in: 'src/store/store.ts',
    from: "const BEGIN_READ = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'",
    to: "const BEGIN_READ = 'BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY'",
  },
  {
    promise: 'A backup is the whole database at one moment',
    in: 'src/store/backup/tables.ts',
    from: 'let waiting = Object.values(schema).flatMap(',
    to: 'let waiting = Object.values(schema).filter((table) => table !== schema.rawDocuments).flatMap(',
  },
  {
    promise: 'A restore is all or nothing',
    in: 'src/backup/restore-backup.ts',
    from: 'await blameDamage(input, () => loadTables(client, { archive, digests, progress }))',
    to: "await loadTables(client, { archive, digests, progress }).finally(() => client.query('COMMIT; BEGIN'))",
  },
  {
    promise: '… and refuses a file in which one bit has changed',
    in: 'src/backup/read-archive.ts',
    from: "if (ahead.bytes.toString('latin1') !== checksums) throw damaged('its checksums differ')",
    to: "if (checksums === '') throw damaged('its checksums differ')",
  },
  {
    promise: 'A restore is all or nothing',
    in: 'src/backup/restore-backup.ts',
    from: 'await archive.verify()',
    to: 'void archive.verify',
  },
  {
    promise:
      '`musette backup --verify` says "as it was written" only of a backup that was restored, and whose rows were read again and are the same',
    in: 'src/backup/restore-backup.ts',
    from: '(await digestTable(client, table)) !== digest',
    to: "(await digestTable(client, table)) === ''",
  },
  {
    promise: '… and changes nothing of the database beside which it works',
    in: 'src/store/backup/throw-away.ts',
    from: 'url.pathname = `/${name}`',
    to: "url.hash = ''",
  },
  {
    promise: '… and the daemon does it once a week with the newest scheduled one, and a failure is told',
    in: 'src/app/scheduled-backup.ts',
    from: "outcome === 'done' && ageMs >= 0",
    to: 'outcome !== null && ageMs >= 0',
  },
  {
    promise:
      'A backup is loaded into any Postgres from 14 on without musette, by tar, gunzip and psql, row for row',
    in: 'src/store/backup/definitions.ts',
    from: "|| CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END",
    to: "|| ''",
  },
  {
    promise:
      '`musette export --all --check` says "as the database holds it" only when every file was read just now and is what this moment\'s rows make',
    in: 'src/app/export/compare-folder.ts',
    from: 'thorough: true',
    to: 'thorough: false',
  },
  {
    promise: 'An export keeps the FIT files and the answers that it was asked for once',
    in: 'src/app/export/export-all.ts',
    from: ' || last?.also?.includes(one)',
    to: '',
  },
  {
    promise: 'A backup of an older version is migrated by its restore',
    in: 'src/backup/restore-backup.ts',
    from: 'await applyMigrations(client, options)',
    to: 'void options',
  },
  {
    promise: 'The next export writes what a rebuild has mended, and nothing else',
    in: 'src/store/samples/replace-content.ts',
    from: 'if (activityIds.length === 0) return',
    to: 'if (activityIds.length >= 0) return',
  },
  {
    promise: 'The next export writes what a rebuild has mended, and nothing else',
    in: 'src/store/samples/replace-content.ts',
    from: '...rewritten.map(({ activityId }) => activityId), ...curved',
    to: '...activities.map(({ activityId }) => activityId), ...curved',
  },
  {
    promise:
      '… and takes no file for that of another database, also of one that was restored from the same backup',
    in: 'src/store/samples/replace-content.ts',
    from: 'SELECT id, gen_random_uuid() FROM unnest',
    to: "SELECT id, lpad(to_hex(id), 32, '0')::uuid FROM unnest",
  },
  {
    promise:
      'An exported file whose bytes have changed is written again: by each export when its size or time differs, else by the next one by hand, or within a day by the daemon',
    in: 'src/app/export/export-folder.ts',
    from: 'const isRead = thorough || found.mtimeMs !== file.modified_ms',
    to: 'const isRead = found.mtimeMs !== file.modified_ms',
  },
  {
    promise:
      'An exported file whose bytes have changed is written again: by each export when its size or time differs, else by the next one by hand, or within a day by the daemon',
    in: 'src/app/export/export-folder.ts',
    from: 'const isRead = thorough || found.mtimeMs !== file.modified_ms',
    to: 'const isRead = thorough',
  },
  {
    promise: 'All Parquet files of a table have the same columns, whatever the service sends',
    in: 'src/store/samples/export-rows.ts',
    from: 'const extras = await findExtras(tx, activityIds)',
    to: 'const extras = await findExtras(tx, [])',
  },
  {
    promise:
      'From Postgres 18 on the samples of an activity are found by their index, in whatever order the activities were written, also after an ANALYZE',
    in: 'src/store/samples/vacuum.ts',
    from: 'ALTER TABLE training.samples ALTER activity_id SET STATISTICS 0',
    to: 'ALTER TABLE training.samples ALTER activity_id SET STATISTICS -1',
  },
  {
    promise:
      'A command whose answer has no room on the disk never ends with 0, also when only the last bytes are missing',
    in: 'src/cli/standard-streams.ts',
    from: 'if (fstatSync(stdout.fd).isFile()) stdout._write = writeWhole',
    to: 'if (fstatSync(stdout.fd).isSocket()) stdout._write = writeWhole',
  },
]
