import type { Breaking } from '../promises.ts'

/** The path of every connection is not opened here, because then the code of the other role would run before the tests begin. */
const OPEN_PATH: Omit<Breaking, 'promise'> = {
  in: 'src/query/connection.ts',
  from: 'SET search_path = training;',
  to: 'SET search_path = "$user", public, training;',
}

/** Breaks what docs/security.md promises about pages, assistants, analysts, other users and files that are dropped. */
export const RIGHTS: readonly Breaking[] = [
  {
    promise: 'the dashboard refuses to listen beyond loopback without a token',
    in: 'src/web/web.ts',
    from: 'if (isLoopback(host) || token !== undefined) return',
    to: 'if (isLoopback(host) || token !== null) return',
  },
  {
    promise: 'unauthenticated clients see nothing but health',
    in: 'src/web/auth.ts',
    from: 'if (request.authenticated || request.routeOptions.config?.public) return',
    to: "if (request.authenticated || request.routeOptions.config?.public || request.url === '/nothing') return",
  },
  {
    promise: "below a path of a reverse proxy the session's cookie goes to that path alone, by TLS alone",
    in: 'src/web/auth.ts',
    from: "return { path: root || '/',",
    to: "return { path: root ? '/' : '/',",
  },
  {
    promise: "below a path of a reverse proxy the session's cookie goes to that path alone, by TLS alone",
    in: 'src/web/auth.ts',
    from: "const secure = headers.origin?.startsWith('https://') ?? false",
    to: "const secure = headers.origin === 'https://'",
  },
  {
    promise: 'wrong tokens do not lock out the right one',
    in: 'src/web/auth.ts',
    from: "if (isSame(given, token)) return { kind: 'authenticated' }",
    to: "if (isSame(given, token) && (await countWrongToken(request)).isAllowed) return { kind: 'authenticated' }",
  },
  {
    promise: 'guesses fill no log',
    in: 'src/web/auth.ts',
    from: 'if (!limit.isAllowed && limit.isExceeded) return',
    to: 'if (!limit.isAllowed && request.ip === undefined) return',
  },
  {
    promise: 'a page of another site can write nothing',
    in: 'src/web/origin.ts',
    from: 'if (READING.includes(request.method) || isOwnWrite(request)) return',
    to: 'if (READING.includes(request.method) || request.method) return',
  },
  {
    promise: 'a file is accepted only with the token of a page',
    in: 'src/web/page-token.ts',
    from: 'return given.length === expected.length && timingSafeEqual(given, expected)',
    to: 'return given.length === expected.length',
  },
  {
    promise: 'a request under a foreign host name is refused',
    in: 'src/web/origin.ts',
    from: "if (options.loopbackOnly) server.addHook('onRequest', refuseForeignHost)",
    to: "if (!options.loopbackOnly) server.addHook('onRequest', refuseForeignHost)",
  },
  {
    promise: 'a session cannot be forged',
    in: 'src/web/sessions.ts',
    from: 'const session = parseSession(signer.unsign(value).value)',
    to: "const session = parseSession(value.split('.').slice(0, 2).join('.'))",
  },
  {
    promise: 'a session that was signed out stays signed out',
    in: 'src/web/sessions.ts',
    from: 'return stored.has(session.id) ? undefined : session',
    to: 'return session',
  },
  {
    promise: 'requests that stall are ended',
    in: 'src/web/web.ts',
    from: 'if (!raw.complete && !isReading) raw.destroy()',
    to: 'if (!raw.complete && !isReading) raw.pause()',
  },
  {
    promise: 'requests that stall are ended',
    in: 'src/web/web.ts',
    from: 'http: { headersTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS / 2 },',
    to: 'http: { headersTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS * 100 },',
  },
  {
    promise: '… and no more connections are open than a fixed number',
    in: 'src/web/web.ts',
    from: 'server.server.maxConnections = MOST_CONNECTIONS',
    to: 'server.server.maxConnections = 100 * MOST_CONNECTIONS',
  },
  {
    promise: 'no page changes the queue',
    in: 'src/web/pages/queues/routes.ts',
    from: "scope.get('/queues'",
    to: "scope.all('/queues'",
  },
  {
    promise: 'a queue that another program paused is resumed',
    in: 'src/jobs/queues.ts',
    from: 'await deps.queues[queue].resume()',
    to: 'void deps.queues[queue]',
  },
  {
    promise: 'jobs contain ids, never secrets',
    in: 'src/jobs/queues.ts',
    from: 'const distinct = new Map(input.payloads.map((payload) => [jobKeyOf(input.name, payload), payload]))',
    to: "const distinct = new Map(input.payloads.map((payload) => [jobKeyOf(input.name, payload), { ...(payload as object), token: 'x' }]))",
  },
  {
    promise:
      '10,000 hostile statements of an assistant change nothing, see no secret and leave nothing behind',
    in: 'src/query/guarded-reader.ts',
    from: 'await connection.close()',
    to: 'void connection.close',
  },
  {
    promise: 'a reader that is held to one account becomes none of all accounts, whatever it sets',
    in: 'src/store/migration/one-account.ts',
    from: 'await client.query(`REVOKE musette_reader FROM ${name}`)',
    to: 'void name',
  },
  {
    promise: '… and sees nothing of others after a migration that makes tables and views',
    in: 'src/store/migrate.ts',
    from: 'if (version > 0 && version < target) await limitAgain(client)',
    to: 'void limitAgain',
  },
  {
    promise: 'an assistant that is limited to one account sees no other one',
    in: 'src/store/migration/one-account.ts',
    from: 'if (notNull) return `account_id = ${ACCOUNT}`',
    to: "if (notNull) return 'true'",
  },
  {
    promise: 'no statement of an assistant runs beyond its time',
    in: 'src/query/guarded-reader.ts',
    from: 'await terminate(found, connection.serverPid)',
    to: 'void terminate',
  },
  {
    promise: 'texts that anybody wrote are marked as data for assistants',
    in: 'src/mcp/answer.ts',
    from: "const mark = randomBytes(6).toString('hex')",
    to: "const mark = 'mark'",
  },
  {
    promise: '`/mcp` answers with the token only, and no page of another site',
    in: 'src/web/auth.ts',
    from: 'if (request.authenticated || request.routeOptions.config?.public) return',
    to: 'if (request.authenticated || request.routeOptions.config) return',
  },
  {
    promise: '`/mcp` answers with the token only, and no page of another site',
    in: 'src/web/origin.ts',
    from: 'if (READING.includes(request.method) || isOwnWrite(request)) return',
    to: 'if (READING.includes(request.method) || request.method) return',
  },
  {
    promise:
      'functions and operators that another role has made in schema `public`, or in one named as our user, run under no verb of ours, also where every role may create there',
    ...OPEN_PATH,
  },
  { promise: '… and neither in the daemon, nor for its pages, nor for an assistant', ...OPEN_PATH },
  {
    promise: '… nor by a function of ours that a session of your own calls',
    in: 'drizzle/0002_fixed_paths.sql',
    from: 'ALTER FUNCTION musette.differences(jsonb, jsonb) SET search_path = pg_catalog, pg_temp;',
    to: 'ALTER FUNCTION musette.differences(jsonb, jsonb) RESET search_path;',
  },
  {
    promise: 'the reading login reads nothing but schema `training`',
    in: 'src/query/reader-login.ts',
    from: '`GRANT USAGE ON SCHEMA training TO ${READER}`',
    to: '`GRANT USAGE ON SCHEMA training, musette TO ${READER}; GRANT SELECT ON ALL TABLES IN SCHEMA musette TO ${READER}`',
  },
  {
    promise: 'the reading login writes nothing',
    in: 'src/query/reader-login.ts',
    from: '`GRANT SELECT ON ALL TABLES IN SCHEMA training TO ${READER}`',
    to: '`GRANT SELECT, INSERT, DELETE ON ALL TABLES IN SCHEMA training TO ${READER}`',
  },
  {
    promise: 'advisory locks of a reading login hold up no poll, upload or migration',
    in: 'src/store/store.ts',
    from: 'const name = `${work} ${owner}`',
    to: 'const name = `${work} ${owner}`; await tx.client.query("SELECT pg_advisory_xact_lock(hashtext($1), $2::int)", [work, owner])',
  },
  {
    promise: 'the reading login fills nothing and takes no lock',
    in: 'src/query/reader-limits.ts',
    from: 'if (rights.ownsDatabase) {',
    to: "if (rights.database === '') {",
  },
  {
    promise: 'the reading login fills nothing and takes no lock',
    in: 'src/query/reader-limits.ts',
    from: 'const functions = rights.ownsFunctions ? await findPublicFunctions(tx) : []',
    to: 'const functions = rights.database ? [] : await findPublicFunctions(tx)',
  },
  {
    promise: 'the reading login takes ten connections at most',
    in: 'src/query/reader-login.ts',
    from: 'const CONNECTIONS = { analysts: 10,',
    to: 'const CONNECTIONS = { analysts: 11,',
  },
  {
    promise: '`musette sql` writes only with `--write`',
    in: 'src/query/connection.ts',
    from: "protocol: guarded ? 'extended' : 'simple'",
    to: "protocol: 'simple'",
  },
  {
    promise: '`musette sql` writes only with `--write`',
    in: 'src/query/connection.ts',
    from: "const BEGIN_GUARDED = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT'",
    to: "const BEGIN_GUARDED = 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT'",
  },
  {
    promise: 'names of activities cannot control a terminal',
    in: 'src/cli/output.ts',
    from: 'return nameControls(text).replace(',
    to: 'return text.replace(',
  },
  {
    promise: 'files are placed in the drop folder only',
    in: 'src/dropfolder/move-file.ts',
    from: 'return reached?.ino === own.ino && reached.dev === own.dev ? Buffer.from(via) : undefined',
    to: 'return reached?.ino === own.ino ? undefined : undefined',
  },
  {
    promise: 'no link and no pipe in the drop folder is followed',
    in: 'src/dropfolder/walk-folder.ts',
    from: 'if (entry.isDirectory()) {',
    to: 'if (entry.isDirectory() || entry.isSymbolicLink()) {',
  },
  {
    promise: 'a small file cannot take all memory or stop the daemon',
    in: 'src/fit/fit-walker.ts',
    from: 'const MOST_PARTS = 500',
    to: 'const MOST_PARTS = 500_000_000',
  },
  {
    promise: 'files that are being sent share one budget of memory',
    in: 'src/kit/semaphore.ts',
    from: '(taken === 0 || taken + next.units <= total)',
    to: '(taken === 0 || taken + next.units <= 2 * total)',
  },
  {
    promise: 'an archive cannot fill the disk or the memory',
    in: 'src/fit/gzip.ts',
    from: 'if (size > most) {',
    to: 'if (size < 0) {',
  },
  {
    promise: 'an archive cannot fill the disk or the memory',
    in: 'src/fit/archive.ts',
    from: 'return Math.min(fileBytes, Math.max(RATIO_COUNTS_FROM_BYTES, packedBytes * ratio))',
    to: 'return 1e9 * Math.min(fileBytes, Math.max(RATIO_COUNTS_FROM_BYTES, packedBytes * ratio))',
  },
  {
    promise: 'containers run without capabilities, on a read-only root',
    in: 'docker-compose.yml',
    from: 'cap_drop: [ALL]',
    to: 'cap_drop: []',
  },
  {
    promise: 'containers run without capabilities, on a read-only root',
    in: 'docker-compose.yml',
    from: 'read_only: true',
    to: 'read_only: false',
  },
  {
    promise: 'Redis requires a password',
    in: 'docker-compose.yml',
    from: "command: ['redis-server', '/run/secrets/redis_settings',",
    to: "command: ['redis-server',",
  },
  {
    promise: 'failed logins at the embedded database do not fill the disk with its log',
    in: 'src/embedded/postgres-server.ts',
    from: 'if (size <= LOG_LIMIT_BYTES) return false',
    to: 'if (size > 0) return false',
  },
]
