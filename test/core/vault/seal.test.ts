import { createCipheriv, createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import {
  pendingKeyPath,
  putKeyInPlace,
  readKeyFile,
  readOrMakeSecretKey,
  readPendingIds,
  readSecretKeys,
  removePendingKeys,
  secretKeyPath,
  writeKeyFile,
} from '../../../src/core/vault/key-file.ts'
import { makeKeyring, makeSealer, sealLogin, spoolName, unsealFields } from '../../../src/core/vault/seal.ts'
import { makeSpool } from '../../../src/core/vault/stored-credentials.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const [ONE, TWO, THREE] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer]
const idOf = (key: Buffer) => createHash('sha256').update(key).digest('hex').slice(0, 8)
const ORIGIN = 'https://service.test'
const PAIR = { accessToken: 'a', refreshToken: 'r', obtainedAt: new Date(1_000), expiresAt: new Date(2_000) }
const LOGIN = { clientId: 'c', clientSecret: 's', username: 'u', password: 'p', pair: PAIR }
const sealer = makeSealer(ONE)
const sealed = sealLogin(sealer, { accountId: 7, origin: ORIGIN }, LOGIN)

const withCode = (code: string) => expect.objectContaining({ code })

async function openFolder(): Promise<string> {
  const folder = await openTempDir('vault')
  onTestFinished(() => folder.close())
  return folder.path
}

it.each([
  [[ONE, TWO], [ONE], ONE],
  [[ONE, TWO], [TWO], TWO],
  [[ONE, TWO], [THREE], TWO],
  [[], [TWO], ONE],
])('a new login uses the key of the other logins, or else the newest key', (keys, used, chosen) => {
  const keyring = makeKeyring({ secretKey: ONE, readKeys: () => keys })
  expect(keyring.sealerForNew(new Set(used.map(idOf))).keyId).toBe(idOf(chosen))
})

it('the values of a login must come from one origin', () => {
  const elsewhere = sealLogin(sealer, { accountId: 7, origin: 'https://other.test' }, LOGIN)
  const mixed = { ...sealed, password: elsewhere.password }
  expect(() => unsealFields(sealer, mixed)).toThrow(withCode('login_elsewhere'))
})

it('a sealed value is version, nonce, tag, and encrypted origin and text', () => {
  const open = (version: number) => {
    const cipher = createCipheriv('aes-256-gcm', ONE, Buffer.alloc(12, 5))
    cipher.setAAD(Buffer.from(`musette ${version} 7 password`))
    const body = Buffer.concat([cipher.update(`${ORIGIN}\np\nq`), cipher.final()])
    const value = Buffer.concat([Buffer.from([version]), Buffer.alloc(12, 5), cipher.getAuthTag(), body])
    return sealer.open(value, { accountId: 7, field: 'password' })
  }
  expect(open(2)).toEqual({ text: 'p\nq', origin: ORIGIN })
  expect(() => open(3)).toThrow(withCode('login_damaged'))
})

it('a spool file is removed once its pair is stored; an invalid expiry counts as past', async () => {
  const folder = join(await openFolder(), 'data')
  const identity = '0b5e7a3c-0000-4000-8000-000000000000'
  const spool = makeSpool(folder, identity)
  await spool.write(sealed)
  expect([(await stat(folder)).mode & 0o777, await spool.list()]).toEqual([0o700, [7]])
  await spool.remove(7, new Date(999))
  expect(await spool.read(7)).toEqual(sealed)
  const file = join(folder, spoolName(7, identity))
  const text = JSON.parse(await readFile(file, 'utf8'))
  for (const expiresAt of ['soon', '+033658-09-27T01:46:39.000Z', null, 1e300]) {
    await writeFile(file, JSON.stringify({ ...text, expiresAt }))
    expect(await spool.read(7)).toEqual({ ...sealed, expiresAt: PAIR.obtainedAt })
  }
  await spool.remove(7, PAIR.obtainedAt)
  expect(await readdir(folder)).toEqual([])
  await writeFile(file, JSON.stringify({ ...text, accountId: 8 }))
  await expect(spool.read(7)).rejects.toEqual(withCode('spool_damaged'))
})

it('the key file is created once, for its owner only', async () => {
  const folder = join(await openFolder(), 'new', 'data')
  const key = readOrMakeSecretKey(folder)
  expect([readOrMakeSecretKey(folder), readSecretKeys(folder)]).toEqual([key, [key]])
  const modes = [await stat(folder), await stat(secretKeyPath(folder))].map(({ mode }) => mode & 0o777)
  expect([await readdir(folder), modes]).toEqual([['secret.key'], [0o700, 0o600]])
})

it('keys of unfinished rotations follow the key file, and unused ones are removed', async () => {
  const folder = await openFolder()
  await writeKeyFile(secretKeyPath(folder), ONE)
  for (const key of [TWO, THREE]) await writeKeyFile(pendingKeyPath(folder, idOf(key)), key)
  const scrap = `secret.key.new-${idOf(TWO)}.part`
  for (const name of [scrap, 'secret.key.new-x', 'other']) await writeFile(join(folder, name), '')
  expect(readPendingIds(folder).sort()).toEqual([idOf(TWO), idOf(THREE)].sort())
  expect(readSecretKeys(folder)[0]).toEqual(ONE)
  expect(readSecretKeys(folder)).toHaveLength(3)
  await removePendingKeys(folder, new Set([idOf(TWO)]))
  const left = ['other', 'secret.key', `secret.key.new-${idOf(TWO)}`, 'secret.key.new-x']
  expect((await readdir(folder)).sort()).toEqual(left.sort())
  for (const _twice of [1, 2]) await putKeyInPlace(folder, idOf(TWO))
  expect(readSecretKeys(folder)).toEqual([TWO])
})

it('a key file that cannot be read, written or renamed gives an error', async () => {
  const inFile = join(await openFolder(), 'file')
  await writeFile(inFile, '')
  await mkdir(`${inFile}.folder`)
  expect(() => readKeyFile(`${inFile}.folder`)).toThrow(withCode('secret_key_unreadable'))
  expect(() => readPendingIds(inFile)).toThrow(withCode('secret_key_unreadable'))
  const unwritable = withCode('secret_key_unwritable')
  await expect(writeKeyFile(secretKeyPath(inFile), ONE)).rejects.toEqual(unwritable)
  await expect(putKeyInPlace(inFile, idOf(ONE))).rejects.toEqual(unwritable)
})
