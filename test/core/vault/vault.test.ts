import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { findAccount, upsertAccount } from '../../../src/core/store/account-rows.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { makeSealer, UnreadableLoginError } from '../../../src/core/vault/seal.ts'
import { TransientError } from '../../../src/kit/errors.ts'
import { rowsOf } from '../store/open.ts'
import { ACCOUNT, pairAt, useTestVault } from './vault.ts'

const openVault = useTestVault()

test('the vault returns the credentials of a login and stores none in clear text', async () => {
  const { store, vault, accountId } = await openVault()
  expect(await vault.read(accountId)).toEqual({
    ...{ clientId: 'client', clientSecret: 'client-secret', username: 'rider', password: 'pässword' },
    ...{ ...pairAt(0), origin: ACCOUNT.baseUrl, needsLogin: false, failures: 0, notBefore: undefined },
    ...{ isRiderCompared: false, refusals: 0, refusedSince: undefined },
  })
  const [row] = await rowsOf(store, 'SELECT c::text FROM musette.credentials c')
  const hex = (text: string) => Buffer.from(text).toString('hex')
  for (const secret of ['access-0', 'refresh-0', 'client-secret', 'pässword']) {
    expect(row?.c).not.toContain(secret)
    expect(row?.c).not.toContain(hex(secret))
  }
  expect(await vault.read(accountId + 1)).toBeUndefined()
})

test('a sealed value decrypts only complete, with its key, account and field', () => {
  const key = randomBytes(32)
  const sealer = makeSealer(key)
  const place = { accountId: 1, field: 'access_token' }
  const origin = 'https://service.test'
  const sealed = sealer.seal('to\nken', { ...place, origin })
  expect(sealer.open(sealed, place)).toEqual({ text: 'to\nken', origin })
  expect(sealer.seal('to\nken', { ...place, origin })).not.toEqual(sealed)
  const passedOff = Buffer.from(sealed)
  passedOff[0] = 1
  const bent = Buffer.from(sealed)
  bent[sealed.length - 1] = (bent[sealed.length - 1] ?? 0) ^ 1
  const wrong: Array<() => unknown> = [
    () => makeSealer(randomBytes(32)).open(sealed, place),
    () => sealer.open(sealed, { ...place, accountId: 2 }),
    () => sealer.open(sealed, { ...place, field: 'refresh_token' }),
    () => sealer.open(bent, place),
    () => sealer.open(passedOff, place),
    () => sealer.open(sealed.subarray(0, 20), place),
  ]
  for (const open of wrong) expect(open).toThrow(expect.objectContaining({ code: 'login_damaged' }))
  expect(() => makeSealer(randomBytes(31))).toThrow(expect.objectContaining({ code: 'secret_key_length' }))
})

test('a saved pair is in the table and clears failures and needs_login', async () => {
  const { store, vault, accountId } = await openVault()
  const notBefore = new Date('2024-06-01T13:00:00Z')
  const failure = { failures: 1, notBefore, reason: 'timed out', needsLogin: false, refusedSince: undefined }
  await vault.locked(accountId, (held) => held.recordState(failure))
  expect(await vault.read(accountId)).toMatchObject({ failures: 1, notBefore, needsLogin: false })
  await vault.locked(accountId, (held) => held.park('refused'))
  expect(await vault.read(accountId)).toMatchObject({ failures: 1, needsLogin: true })
  const account = () => store.read((tx) => findAccount(tx, 'default'))
  expect(await account()).toMatchObject({ needsLogin: true, lastError: 'refused' })
  expect(await vault.locked(accountId, (held) => held.save(pairAt(5)).then(() => 'done'))).toBe('done')
  const none = { failures: 0, notBefore: undefined, needsLogin: false }
  expect(await vault.read(accountId)).toMatchObject({ ...pairAt(5), ...none })
  expect(await account()).toMatchObject({ needsLogin: false, lastError: null })
})

test.each([
  ['clears the refusals of a refresh', 0, { needsLogin: false, refusedSince: undefined }],
  ['keeps the refusals of new tokens', 2, { needsLogin: true, refusedSince: pairAt(1).obtainedAt }],
])('a saved pair %s', async (_what, refusals, kept) => {
  const { vault, accountId } = await openVault()
  const refused = { needsLogin: true, refusedSince: pairAt(1).obtainedAt, notBefore: pairAt(2).obtainedAt }
  await vault.locked(accountId, async (held) => {
    await held.recordState({ ...refused, refusals, failures: 1, reason: 'refused' })
  })
  expect(await vault.read(accountId)).toMatchObject({ ...refused, refusals, failures: 1 })
  await vault.locked(accountId, (held) => held.save(pairAt(5)))
  expect(await vault.read(accountId)).toMatchObject({ ...pairAt(5), ...kept, refusals, failures: 0 })
})

test('a saved pair or a parked account survives a later error', async () => {
  const { vault, accountId } = await openVault()
  const reason = new TransientError('later', 'the next step failed')
  const fail = () => Promise.reject(reason)
  const saving = vault.locked(accountId, (held) => held.save(pairAt(5)).then(fail))
  await expect(saving).rejects.toBe(reason)
  expect(await vault.read(accountId)).toMatchObject({ accessToken: 'access-5' })
  const parking = vault.locked(accountId, (held) => held.park('refused').then(fail))
  await expect(parking).rejects.toBe(reason)
  expect(await vault.read(accountId)).toMatchObject({ needsLogin: true })
})

test('the vault reports a wrong key and changes nothing', async () => {
  const { store, vaultOn, accountId } = await openVault()
  const rows = () => rowsOf(store, 'SELECT c::text, a::text FROM musette.credentials c, training.accounts a')
  const before = await rows()
  const stranger = vaultOn(store, randomBytes(32))
  const refusal = { name: 'ConfigError', code: 'secret_key_mismatch' }
  await expect(stranger.read(accountId)).rejects.toMatchObject(refusal)
  await expect(stranger.locked(accountId, (held) => held.save(pairAt(9)))).rejects.toMatchObject(refusal)
  expect(await rows()).toEqual(before)
})

test('the vault parks an account with unreadable tokens, and keeps an ended login', async () => {
  const { store, vault, accountId } = await openVault()
  const [row] = await rowsOf(store, 'SELECT access_token FROM musette.credentials')
  const setToken = (token: unknown) =>
    store.transaction((tx) => tx.client.query('UPDATE musette.credentials SET access_token = $1', [token]))
  const damage = () => setToken(Buffer.from('damaged'))
  const mend = () => setToken(row?.access_token)
  const account = async () => {
    const found = await store.read((tx) => findAccount(tx, 'default'))
    return [found?.needsLogin, found?.lastError]
  }
  await damage()
  const error = await vault.read(accountId).catch((reason: UnreadableLoginError) => reason)
  if (!(error instanceof UnreadableLoginError)) throw new Error('damaged tokens are read')
  expect(error.message).toMatch(/^the tokens of account "default" are damaged/)
  expect(await vault.findDoubtful()).toEqual({ readable: 0, doubtful: [accountId] })
  await mend()
  await vault.parkUnreadable(error)
  expect(await account()).toEqual([false, null])

  await damage()
  await vault.parkUnreadable(error)
  expect(await account()).toEqual([true, error.message])
  await mend()
  expect(await vault.findDoubtful()).toEqual({ readable: 0, doubtful: [accountId] })
  expect(await vault.read(accountId)).toMatchObject({ ...pairAt(0), needsLogin: false })
  expect(await account()).toEqual([false, null])
  expect(await vault.findDoubtful()).toEqual({ readable: 1, doubtful: [] })

  await vault.locked(accountId, (held) => held.park('refused'))
  await damage()
  await vault.parkUnreadable(error)
  await mend()
  expect(await vault.read(accountId)).toMatchObject({ needsLogin: true })
  expect(await account()).toEqual([true, 'refused'])
})

test('the vault decrypts no tokens for an address that did not issue them', async () => {
  const { store, vault, accountId } = await openVault()
  await store.transaction((tx) => upsertAccount(tx, { ...ACCOUNT, baseUrl: 'http://127.0.0.1:8' }))
  const refusal = { name: 'ConfigError', code: 'login_elsewhere' }
  await expect(vault.read(accountId)).rejects.toMatchObject(refusal)
  await expect(vault.locked(accountId, (held) => held.save(pairAt(9)))).rejects.toMatchObject(refusal)
  await store.transaction((tx) => upsertAccount(tx, { ...ACCOUNT, baseUrl: `${ACCOUNT.baseUrl}/elsewhere` }))
  expect(await vault.read(accountId)).toMatchObject(pairAt(0))
})

test('the vault waits at most 90 s for each lock', async () => {
  const { store, vaultOn, accountId } = await openVault()
  const limited: string[] = []
  const watched: Store = {
    ...store,
    transaction: (work) =>
      store.transaction(async (tx) => {
        const result = await work(tx)
        const { rows } = await tx.client.query('SHOW lock_timeout')
        limited.push(rows[0].lock_timeout)
        return result
      }),
  }
  const vault = vaultOn(watched)
  await vault.locked(accountId, (held) => held.park('refused'))
  expect(limited).toEqual(['90s'])
  await vault.saveLogin(ACCOUNT, { clientId: 'client', clientSecret: 's', pair: pairAt(1) })
  await vault.rotate(async () => randomBytes(32))
  await vault.forget(accountId)
  expect(limited.filter((limit) => limit === '90s')).toHaveLength(4)
})

test('the vault forgets the tokens of an account and keeps the account', async () => {
  const { store, vault, accountId } = await openVault()
  await vault.forget(accountId)
  expect(await vault.read(accountId)).toBeUndefined()
  expect(await store.read((tx) => findAccount(tx, 'default'))).toMatchObject({ needsLogin: true })
  const saving = vault.locked(accountId, (held) => held.save(pairAt(1)))
  await expect(saving).rejects.toMatchObject({ code: 'not_signed_in' })
})
