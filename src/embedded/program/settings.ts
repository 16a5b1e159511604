/** The superuser of the embedded Postgres and its database bear the same name. */
export const USER = 'musette'
export const DATABASE = 'musette'

/**
 * postgresql.conf, written at every start: small when idle. What a person sets with ALTER SYSTEM stands in
 * postgresql.auto.conf, is read after this file and wins.
 */
export const POSTGRESQL_CONF = `# Written by musette at every start; use ALTER SYSTEM for settings of your own.
max_connections = 60
shared_buffers = 64MB
# Nothing is replicated, so the log need only suffice for recovery.
wal_level = minimal
max_wal_senders = 0
max_logical_replication_workers = 0
# A backfill writes a lot at once; the files shrink to min_wal_size afterwards.
max_wal_size = 512MB
min_wal_size = 80MB
# The asynchronous kinds need extra processes or a newer kernel.
io_method = sync
# Compiling costs more than our queries take.
jit = off
# musette starts it again, with growing pauses; by itself it would do so without end on a full disk, and say nothing.
restart_after_crash = off
timezone = 'UTC'
log_timezone = 'UTC'
log_destination = 'stderr'
logging_collector = off
log_checkpoints = off
log_line_prefix = '%m [%p] '
# Failed statements are reported to whoever sent them; their text can hold what does not belong in a log.
log_min_messages = log
log_min_error_statement = panic
`

/** pg_hba.conf, written at every start: a password, and from this machine only. */
export const PG_HBA_CONF = `# Written by musette at every start.
host all all 127.0.0.1/32 scram-sha-256
`

/**
 * Writes the connection URL for clients of ours, which send the password by SCRAM only (kit/postgres-client.ts): while the
 * server is down, another program may listen on its port. The password must need no escaping.
 */
export function makeUrl(access: { port: number; password: string }): string {
  return `${makeSharedUrl(access)}?require_auth=scram-sha-256`
}

/** Writes the connection URL for other programs; older ones refuse a URL with `require_auth`. */
export function makeSharedUrl(access: { port: number; password?: string }): string {
  const password = access.password === undefined ? '' : `:${access.password}`
  return `postgres://${USER}${password}@127.0.0.1:${access.port}/${DATABASE}`
}
