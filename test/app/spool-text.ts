/** Makes the text of a spool file from a row of musette.credentials, whole as pg reads it; `change` in the file's own names. */
export function makeSpoolText(row: Record<string, unknown> = {}, change: { obtainedAt?: Date } = {}): string {
  const base64 = (name: string) => Buffer.from(row[name] as Buffer).toString('base64')
  return JSON.stringify({
    accountId: row.account_id,
    clientId: row.client_id,
    clientSecret: base64('client_secret'),
    accessToken: base64('access_token'),
    refreshToken: base64('refresh_token'),
    username: row.username,
    password: null,
    keyId: row.key_id,
    obtainedAt: row.obtained_at,
    expiresAt: row.expires_at,
    ...change,
  })
}
