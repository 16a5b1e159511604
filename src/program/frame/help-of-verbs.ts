/** Settings that several verbs share. */
export const NETWORK = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS'] as const
export const DATABASE = ['DATABASE_URL', 'MUSETTE_DATA_DIR'] as const
export const KEYED = [...DATABASE, 'MUSETTE_SECRET_KEY'] as const
export const SERVICE = [
  ...DATABASE,
  'MUSETTE_TIMEZONE',
  'MUSETTE_SECRET_KEY',
  'MUSETTE_BASE_URL',
  'MUSETTE_CLIENT_ID',
  'MUSETTE_CLIENT_SECRET',
  ...NETWORK,
] as const
export const PACE = ['MUSETTE_CONCURRENCY', 'MUSETTE_REQUESTS_PER_MINUTE'] as const
export const MIRROR = [...SERVICE, ...PACE, 'MUSETTE_HISTORY_START', 'MUSETTE_KEEP_RAW'] as const

/** The note for verbs whose account may be omitted. */
export const WHOSE = 'If you name no account: the account default, or else the only account.'

/** Exit codes that verbs share: for verbs that open a database, verbs that need a login, and verbs that handle many items. */
export const ASKS = ['unreachable', 'interrupted'] as const
export const SIGNED_IN = ['noLogin', ...ASKS] as const
export const ITEMS = [...SIGNED_IN, 'partial'] as const
