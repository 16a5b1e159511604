/** What a person types or looks at next, by the code of the error, where its own sentence leaves that open. */
export const HINTS: Readonly<Record<string, string>> = {
  database_unreachable: 'look at DATABASE_URL, and whether the database runs',
  database_busy: 'run it again in a moment',
  database_error: 'run it again with MUSETTE_LOG_LEVEL=debug',
  connect_failed: 'look at MUSETTE_BASE_URL and the network, and run it again',
  timeout: 'the service is slow or away; run it again',
  server_error: 'the service is in trouble; run it again later',
  account_moved: 'run it again',
  refresh_pending: 'the service is in trouble; run it again later',
  rate_limited: 'the service asks for patience; run it again later',
  not_json: 'look at MUSETTE_BASE_URL: what answers there may not be the service',
  rejected: 'look at MUSETTE_BASE_URL: what answers there may not be the service',
  invalid_client: 'look at MUSETTE_CLIENT_ID and MUSETTE_CLIENT_SECRET',
  unauthorized_client: 'look at MUSETTE_CLIENT_ID and MUSETTE_CLIENT_SECRET',
}

/** The same for the embedded Postgres, of which a person has set nothing. */
export const EMBEDDED_HINTS: Readonly<Record<string, string>> = {
  database_unreachable: 'its disk may be full; run: musette doctor',
}
