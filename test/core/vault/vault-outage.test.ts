import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore, type Store } from '../../../src/core/store/store.ts'
import { spoolName } from '../../../src/core/vault/seal.ts'
import { makeTokenVault } from '../../../src/core/vault/vault.ts'
import { IDENTITY, makeIdentity } from '../../kit/identity.ts'
import { backendPidOf, quiet, rowsOf, terminate } from '../store/open.ts'
import { ACCOUNT, pairAt, useTestVault } from './vault.ts'

const openVault = useTestVault()

type Moment = 'before save' | 'after save'

/** Makes a store whose transaction loses its connection through `cut`, as if Postgres restarts. */
function cuttingStore(store: Store, url: string) {
  let backendPid = 0
  const cuttable: Store = {
    ...store,
    transaction: (fn) =>
      store.transaction(async (tx) => {
        backendPid = await backendPidOf(tx.client)
        return await fn(tx)
      }),
  }
  return { cuttable, cut: () => terminate(url, backendPid) }
}

function deadStore(): Store {
  const store = openStore({ log: quiet }, { connectionString: 'postgres://127.0.0.1:1/none' })
  onTestFinished(() => store.close())
  return store
}

/** Opens a vault whose account has a newer pair, of second 5, only in its spool file. */
async function openSpooled() {
  const opened = await openVault()
  const { store, url, accountId, spoolDir, vaultOn } = opened
  const { cuttable, cut } = cuttingStore(store, url)
  await vaultOn(cuttable).locked(accountId, async (held) => {
    await held.save(pairAt(5))
    await cut()
  })
  return { ...opened, file: join(spoolDir, spoolName(accountId, IDENTITY.identity)) }
}

test.each<Moment>(['before save', 'after save'])(
  'a new pair survives the loss of the connection %s',
  async (moment) => {
    const { store, url, accountId, spoolDir, vault, vaultOn } = await openVault()
    const { cuttable, cut } = cuttingStore(store, url)
    const result = await vaultOn(cuttable).locked(accountId, async (held) => {
      if (moment === 'before save') await cut()
      await held.save(pairAt(5))
      if (moment === 'after save') await cut()
      return 'refreshed'
    })
    expect(result).toBe('refreshed')
    expect(await readdir(spoolDir)).toEqual([spoolName(accountId, IDENTITY.identity)])
    const file = join(spoolDir, spoolName(accountId, IDENTITY.identity))
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).not.toContain('refresh-5')

    expect(await vaultOn(deadStore()).read(accountId)).toMatchObject({
      ...pairAt(5),
      clientSecret: 'client-secret',
    })
    const found = await vault.locked(accountId, async (held) => held.credentials?.refreshToken)
    expect(found).toBe('refresh-5')
    expect(await readdir(spoolDir)).toEqual([])
    expect(await vault.read(accountId)).toMatchObject(pairAt(5))
  },
)

test('a read moves spooled tokens into the table, unless they are older or for another address', async () => {
  const { store, accountId, spoolDir, vault, file } = await openSpooled()
  const spooled = await readFile(file)
  expect(await vault.read(accountId)).toMatchObject(pairAt(5))
  expect(await readdir(spoolDir)).toEqual([])
  const [row] = await rowsOf(store, 'SELECT obtained_at FROM musette.credentials')
  expect(row?.obtained_at).toEqual(pairAt(5).obtainedAt)
  await vault.locked(accountId, (held) => held.save(pairAt(9)))
  await writeFile(file, spooled)
  expect(await vault.read(accountId)).toMatchObject(pairAt(9))
  expect(await readdir(spoolDir)).toEqual([])
  const login = { clientId: 'c', clientSecret: 's', pair: pairAt(3) }
  await vault.saveLogin({ ...ACCOUNT, baseUrl: 'http://127.0.0.1:8' }, login)
  await writeFile(file, spooled)
  expect(await vault.read(accountId)).toMatchObject({ ...pairAt(3), origin: 'http://127.0.0.1:8' })
  expect(await readdir(spoolDir)).toEqual([])
})

test('a failed commit without new tokens is an error', async () => {
  const { store, url, accountId, vaultOn } = await openVault()
  const { cuttable, cut } = cuttingStore(store, url)
  const parking = vaultOn(cuttable).locked(accountId, async (held) => {
    await held.park('refused')
    await cut()
  })
  await expect(parking).rejects.toMatchObject({ name: 'TransientError', code: 'database_unreachable' })
})

test('a read without database and spool file fails; a pair with an invalid expiry stays', async () => {
  const { accountId, vault, vaultOn } = await openVault()
  await expect(vaultOn(deadStore()).read(accountId)).rejects.toMatchObject({ code: 'database_unreachable' })
  await vault.locked(accountId, (held) => held.save({ ...pairAt(5), expiresAt: new Date(Number.NaN) }))
  expect(await vault.read(accountId)).toMatchObject({ refreshToken: 'refresh-5' })
})

test('a spooled pair is used only by its own database', async () => {
  const { store, accountId, spoolDir, secretKey, vault } = await openSpooled()
  const other = makeTokenVault(
    { store, log: quiet },
    { secretKey, spoolDir, identity: makeIdentity().identity },
  )
  expect(await other.read(accountId)).toMatchObject({ refreshToken: 'refresh-0' })
  await other.saveLogin(ACCOUNT, { clientId: 'client', clientSecret: 'client-secret', pair: pairAt(1) })
  expect(await readdir(spoolDir)).toEqual([spoolName(accountId, IDENTITY.identity)])
  expect(await vault.read(accountId)).toMatchObject({ refreshToken: 'refresh-5' })
})
