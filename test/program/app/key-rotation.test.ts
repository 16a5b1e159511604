import { randomBytes } from 'node:crypto'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyIdOf, spoolName } from '../../../src/core/vault/seal.ts'
import { findKeyIds } from '../../../src/core/vault/stored-credentials.ts'
import { makeTokenVault } from '../../../src/core/vault/vault.ts'
import { quiet, rowsOf } from '../../core/store/open.ts'
import { ACCOUNT, makeSpoolText, openTestVault, pairAt } from '../../core/vault/vault.ts'
import { eventually } from '../../kit/eventually.ts'
import { IDENTITY } from '../../kit/identity.ts'
import { locksHeldOn, queryOnce, WAITING_FOR_LOCK } from '../../kit/postgres.ts'

/** A vault whose process began with the first key; the list has the keys that are now on the disk. */
async function openRotatable() {
  const test = await openTestVault()
  const disk = [test.secretKey]
  const next = randomBytes(32)
  const following = makeTokenVault(
    { store: test.store, log: quiet },
    { secretKey: test.secretKey, readKeys: () => disk, spoolDir: test.spoolDir, ...IDENTITY },
  )
  const rotate = () =>
    test.vault.rotate(async () => {
      disk.push(next)
      return next
    })
  return { ...test, disk, next, following, rotate }
}

const LOGIN = { clientId: 'c', clientSecret: 's', pair: pairAt(0) }

const waitsForLock = (url: string, count: number) =>
  eventually(async () => (await queryOnce(url, WAITING_FOR_LOCK)).length === count)

test('a rotation seals the whole login with the new key and changes nothing else', async () => {
  const { vault, vaultOn, store, accountId, next, rotate } = await openRotatable()
  const notBefore = new Date('2024-06-01T13:00:00Z')
  const failure = { failures: 1, notBefore, reason: 'timed out', needsLogin: false, refusedSince: undefined }
  await vault.locked(accountId, (held) => held.recordState(failure))
  await vault.locked(accountId, (held) => held.park('refused'))
  const before = await vault.read(accountId)
  expect(await rotate()).toEqual({ logins: 1, unreadable: [] })
  expect(await vaultOn(store, next).read(accountId)).toEqual(before)
  expect(before).toMatchObject({ password: 'pässword', failures: 1, notBefore, needsLogin: true })
  const refusal = { name: 'ConfigError', code: 'secret_key_mismatch' }
  await expect(vaultOn(store).read(accountId)).rejects.toMatchObject(refusal)
})

test('a rotation keeps and names a login sealed with an unknown key, and changes nothing if all are', async () => {
  const { store, vaultOn, accountId, next, rotate } = await openRotatable()
  const rows = () => rowsOf(store, 'SELECT c::text FROM musette.credentials c ORDER BY account_id')
  const before = await rows()
  const refusal = { code: 'secret_key_mismatch' }
  const stranger = vaultOn(store, randomBytes(32))
  await expect(stranger.rotate(async () => randomBytes(32))).rejects.toMatchObject(refusal)
  expect(await rows()).toEqual(before)
  await stranger.saveLogin({ ...ACCOUNT, name: 'other' }, LOGIN)
  const [, other] = await rows()
  expect(await rotate()).toMatchObject({ logins: 1, unreadable: [refusal] })
  expect((await rows())[1]).toEqual(other)
  expect(await vaultOn(store, next).read(accountId)).toMatchObject(pairAt(0))
})

test('a process with the old key takes the new key when it reads or refreshes', async () => {
  const { following, vaultOn, store, accountId, next, rotate } = await openRotatable()
  expect(await following.read(accountId)).toMatchObject(pairAt(0))
  await rotate()
  expect(await following.read(accountId)).toMatchObject(pairAt(0))
  await following.locked(accountId, (held) => held.save(pairAt(5)))
  expect(await vaultOn(store, next).read(accountId)).toMatchObject({ ...pairAt(5), password: 'pässword' })
})

test('a rotation waits for a running refresh, includes its tokens, and delays the next one', async () => {
  const { url, following, vaultOn, store, accountId, next, rotate } = await openRotatable()
  const order: string[] = []
  let release: () => void = () => undefined
  const answered = new Promise<void>((resolve) => {
    release = resolve
  })
  const first = following.locked(accountId, async (held) => {
    await answered
    await held.save(pairAt(5))
    order.push('first refresh')
  })
  await eventually(async () => {
    return (await queryOnce(url, locksHeldOn('musette.credentials', 'RowShareLock'))).length > 0
  })
  const rotation = rotate()
  await waitsForLock(url, 1)
  const second = following.locked(accountId, async (held) => {
    const sealedBy = (await store.read(findKeyIds)).has(keyIdOf(next)) ? 'the next key' : 'the first key'
    order.push(`second refresh, after ${held.credentials?.refreshToken} under ${sealedBy}`)
    await held.save(pairAt(9))
  })
  await waitsForLock(url, 2)
  release()
  await Promise.all([first, rotation, second])
  expect(order).toEqual(['first refresh', 'second refresh, after refresh-5 under the next key'])
  expect(await vaultOn(store, next).read(accountId)).toMatchObject(pairAt(9))
})

test('a first login waits for a rotation and is sealed with the new key', async () => {
  const { url, vault, vaultOn, store, accountId, following, disk, next } = await openRotatable()
  await vault.forget(accountId)
  let login: Promise<unknown> | undefined
  await vault.rotate(async () => {
    disk.push(next)
    login = following.saveLogin(ACCOUNT, { ...LOGIN, pair: pairAt(3) })
    await waitsForLock(url, 1)
    return next
  })
  await login
  expect(await vaultOn(store, next).read(accountId)).toMatchObject(pairAt(3))
})

test('a rotation first stores spooled tokens and removes their file', async () => {
  const { vaultOn, store, accountId, spoolDir, next, rotate, url } = await openRotatable()
  // A spool file with tokens that the table lacks, written by a process that lost the database at that moment.
  const cutting = vaultOn({
    ...store,
    transaction: (fn) =>
      store.transaction(async (tx) => {
        const { rows } = await tx.client.query('SELECT pg_backend_pid() AS pid')
        const result = await fn(tx)
        await queryOnce(url, 'SELECT pg_terminate_backend($1, 10000)', [rows[0]?.pid])
        return result
      }),
  })
  await cutting.locked(accountId, (held) => held.save(pairAt(7)))
  expect(await readdir(spoolDir)).toEqual([spoolName(accountId, IDENTITY.identity)])
  expect(await rotate()).toEqual({ logins: 1, unreadable: [] })
  expect(await readdir(spoolDir)).toEqual([])
  expect(await vaultOn(store, next).read(accountId)).toMatchObject(pairAt(7))
})

test('a rotation ignores an outdated spool file sealed with an older key', async () => {
  const { vault, vaultOn, store, accountId, spoolDir, next, rotate } = await openRotatable()
  const [row] = await rowsOf(store, 'SELECT * FROM musette.credentials')
  await rotate()
  await writeFile(join(spoolDir, spoolName(accountId, IDENTITY.identity)), makeSpoolText(row))
  expect(await vaultOn(store, next).read(accountId)).toMatchObject(pairAt(0))
  expect(await readdir(spoolDir)).toEqual([])
  await expect(vault.read(accountId)).rejects.toMatchObject({ code: 'secret_key_mismatch' })
})
