import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { TokenPair } from '../../../src/core/service/credentials.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { makeTokenVault } from '../../../src/core/vault/vault.ts'
import { IDENTITY } from '../../kit/identity.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openTestStore, quiet } from '../store/open.ts'

/** The account of a test vault. */
export const ACCOUNT = { name: 'default', baseUrl: 'http://127.0.0.1:9' }

/** Makes a pair whose tokens are named after the second in which it was issued. */
export function pairAt(second: number): TokenPair {
  const obtainedAt = new Date(Date.UTC(2024, 5, 1, 12, 0, second))
  const expiresAt = new Date(obtainedAt.getTime() + 604_800_000)
  return { accessToken: `access-${second}`, refreshToken: `refresh-${second}`, obtainedAt, expiresAt }
}

/** Opens a vault with one account, which is signed in with the pair of second 0. */
export async function openTestVault(opened?: Awaited<ReturnType<typeof openTestStore>>) {
  const { store, url } = opened ?? (await openTestStore())
  const { path: spoolDir, close } = await openTempDir('spool')
  onTestFinished(close)
  const secretKey = randomBytes(32)
  const vaultOn = (other: Store, key = secretKey) =>
    makeTokenVault({ store: other, log: quiet }, { secretKey: key, spoolDir, ...IDENTITY })
  const vault = vaultOn(store)
  const { accountId } = await vault.saveLogin(ACCOUNT, {
    clientId: 'client',
    clientSecret: 'client-secret',
    pair: pairAt(0),
    username: 'rider',
    password: 'pässword',
  })
  return { store, url, accountId, spoolDir, secretKey, vault, vaultOn }
}

/** Opens one store for all tests of a file. Returns a function that empties it and opens a vault on it. */
export function useTestVault() {
  const ends: Array<() => Promise<void>> = []
  let opened: Awaited<ReturnType<typeof openTestStore>>
  beforeAll(async () => {
    opened = await openTestStore((end) => ends.push(end))
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })
  return async () => {
    await queryOnce(opened.url, 'truncate training.accounts cascade')
    return openTestVault(opened)
  }
}

/** Makes the text of a spool file from a row of musette.credentials, with every column as pg reads it. */
export function makeSpoolText(row: Record<string, unknown> = {}): string {
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
  })
}
