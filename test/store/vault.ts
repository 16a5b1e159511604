import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { TokenPair } from '../../src/store/vault/types.ts'
import { makeTokenVault } from '../../src/store/vault/vault.ts'
import { openTestStore, quiet } from './open.ts'

/** The account of a test vault. */
export const ACCOUNT = { name: 'default', baseUrl: 'http://127.0.0.1:9' }

/** A pair whose tokens are named after the second at which it was issued. */
export function pairAt(second: number): TokenPair {
  const obtainedAt = new Date(Date.UTC(2024, 5, 1, 12, 0, second))
  const expiresAt = new Date(obtainedAt.getTime() + 604_800_000)
  return { accessToken: `access-${second}`, refreshToken: `refresh-${second}`, obtainedAt, expiresAt }
}

/** A spool folder that is removed at the end of the test. */
export async function makeSpoolDir(): Promise<string> {
  const spoolDir = await mkdtemp(join(tmpdir(), 'musette-spool-'))
  onTestFinished(() => rm(spoolDir, { recursive: true, force: true }))
  return spoolDir
}

/** A vault with one account signed in with the pair of second 0. */
export async function openTestVault() {
  const { store, url } = await openTestStore()
  const spoolDir = await makeSpoolDir()
  const secretKey = randomBytes(32)
  const vaultOn = (other: Store, key = secretKey) =>
    makeTokenVault({ store: other, log: quiet }, { secretKey: key, spoolDir })
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
