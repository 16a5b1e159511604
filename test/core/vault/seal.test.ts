import { createCipheriv, createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
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
import {
  makeKeyring,
  makeSealer,
  reseal,
  type SealedCredentials,
  sealLogin,
  spoolName,
  UnreadableLoginError,
  unsealCredentials,
} from '../../../src/core/vault/seal.ts'
import { makeSpool } from '../../../src/core/vault/stored-credentials.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const [ONE, TWO, THREE] = [1, 2, 3].map((byte) => Buffer.alloc(32, byte)) as [Buffer, Buffer, Buffer]
const idOf = (key: Buffer) => createHash('sha256').update(key).digest('hex').slice(0, 8)
const ORIGIN = 'https://service.test'
const STATE = {
  ...{ needsLogin: false, failures: 2, notBefore: null, isRiderCompared: false, refusals: 0 },
  ...{ refusedSince: null, baseUrl: `${ORIGIN}/api` },
}
const PAIR = { accessToken: 'a', refreshToken: 'r', obtainedAt: new Date(1_000), expiresAt: new Date(2_000) }
const LOGIN = { clientId: 'c', clientSecret: 's', username: 'u', password: 'p', pair: PAIR }

const withCode = (code: string) => expect.objectContaining({ code })

async function openFolder(): Promise<string> {
  const folder = await openTempDir('vault')
  onTestFinished(() => folder.close())
  return folder.path
}

describe('the keyring', () => {
  it('reads the keys again for an unknown id, and opens nothing with another key', () => {
    let keys = [ONE]
    let reads = 0
    const readKeys = () => {
      reads++
      return keys
    }
    const keyring = makeKeyring({ secretKey: ONE, readKeys })
    expect(keyring.sealerOf({ accountId: 1, keyId: idOf(ONE) }).keyId).toBe(idOf(ONE))
    expect(reads).toBe(0)
    const unknown = () => keyring.sealerOf({ accountId: 1, keyId: idOf(TWO) })
    expect(unknown).toThrow(expect.objectContaining({ code: 'secret_key_mismatch', accountId: 1 }))
    keys = [TWO]
    expect(unknown().keyId).toBe(idOf(TWO))
    expect(keyring.sealerOf({ accountId: 1, keyId: idOf(ONE) }).keyId).toBe(idOf(ONE))
  })

  it.each([
    [[ONE, TWO], [ONE], ONE],
    [[ONE, TWO], [TWO], TWO],
    [[ONE, TWO], [ONE, TWO], ONE],
    [[ONE, TWO], [THREE], TWO],
    [[ONE, TWO], [], TWO],
    [[], [TWO], ONE],
    [[TWO], [], TWO],
  ])('uses for a new login the key of the others, else the newest', (keys, used, chosen) => {
    const keyring = makeKeyring({ secretKey: ONE, readKeys: () => keys })
    expect(keyring.sealerForNew(new Set(used.map(idOf))).keyId).toBe(idOf(chosen))
    expect(makeKeyring({ secretKey: ONE }).sealerForNew(new Set()).keyId).toBe(idOf(ONE))
  })
})

describe('sealed credentials', () => {
  const sealer = makeSealer(ONE)
  const sealed = sealLogin(sealer, { accountId: 7, origin: ORIGIN }, LOGIN)

  it('open to the sealed values, with the state of the row, also with another key', () => {
    const { pair, ...login } = LOGIN
    const { baseUrl: _url, ...state } = STATE
    const none = { notBefore: undefined, refusedSince: undefined }
    const opened = { ...login, ...pair, origin: ORIGIN, ...state, ...none }
    expect(unsealCredentials(sealer, sealed, STATE)).toEqual(opened)
    const notBefore = new Date(3_000)
    expect(unsealCredentials(sealer, sealed, { ...STATE, notBefore })).toEqual({ ...opened, notBefore })
    const { username: _, password: __, ...without } = LOGIN
    const plain = sealLogin(sealer, { accountId: 7, origin: ORIGIN }, without)
    const resealed = reseal({ from: sealer, to: makeSealer(TWO) }, plain)
    expect(resealed).toMatchObject({ username: null, password: null, keyId: idOf(TWO) })
    const unnamed = { ...opened, username: undefined, password: undefined }
    expect(unsealCredentials(makeSealer(TWO), resealed, STATE)).toEqual(unnamed)
  })

  it('open only with their key, at their address and undamaged', () => {
    const elsewhere = sealLogin(sealer, { accountId: 7, origin: 'https://other.test' }, LOGIN)
    const codeOf = (from: typeof sealer, what: SealedCredentials) => {
      try {
        return unsealCredentials(from, what, STATE)
      } catch (error) {
        return (error as UnreadableLoginError).code
      }
    }
    expect(codeOf(makeSealer(TWO), sealed)).toBe('secret_key_mismatch')
    expect(codeOf(sealer, elsewhere)).toBe('login_elsewhere')
    expect(codeOf(sealer, { ...sealed, password: elsewhere.password })).toBe('login_elsewhere')
    // 29 bytes are the version, the nonce and the tag of an empty text.
    for (const length of [0, 1, 28, 29]) {
      const accessToken = sealed.accessToken.subarray(0, length)
      expect(codeOf(sealer, { ...sealed, accessToken })).toBe('login_damaged')
    }
  })

  it('have the stored form: version, nonce, tag, and origin and text bound to account and field', () => {
    for (const [version, text] of [
      [1, 'p'],
      [2, ''],
      [2, 'p\nq'],
      [3, 'p'],
    ] as const) {
      const cipher = createCipheriv('aes-256-gcm', ONE, Buffer.alloc(12, 5))
      cipher.setAAD(Buffer.from(`musette ${version} 7 password`))
      const body = Buffer.concat([cipher.update(`${ORIGIN}\n${text}`), cipher.final()])
      const value = Buffer.concat([Buffer.from([version]), Buffer.alloc(12, 5), cipher.getAuthTag(), body])
      const open = () => sealer.open(value, { accountId: 7, field: 'password' })
      if (version === 2) expect(open()).toEqual({ text, origin: ORIGIN })
      else expect(open).toThrow(expect.objectContaining({ code: 'login_damaged' }))
    }
  })

  it('that cannot be read give the name of the account and the command', () => {
    const error = new UnreadableLoginError('login_damaged', { accountId: 7 }, { cause: 'why' })
    expect(error.message).toMatch(/^the tokens of account 7 are damaged .*; run: musette login ACCOUNT$/)
    const named = error.of({ accountId: 8, name: 'ann' })
    expect(named).toMatchObject({ code: 'login_damaged', accountId: 8, cause: 'why' })
    expect(named.message).toMatch(/^the tokens of account "ann" are damaged .*; run: musette login ann$/)
    const spooled = new UnreadableLoginError('spool_damaged', { accountId: 7 })
    expect(spooled.message).toContain('the file tokens-7-….spool with')
  })
})

describe('a spool', () => {
  const IDENTITY = '0b5e7a3c-0000-4000-8000-000000000000'
  const sealed = sealLogin(makeSealer(ONE), { accountId: 7, origin: ORIGIN }, LOGIN)

  it('returns the written pair, for its own database, until an equally new one removes it', async () => {
    const folder = join(await openFolder(), 'data')
    const spool = makeSpool(folder, IDENTITY)
    expect([await spool.list(), await spool.read(7)]).toEqual([[], undefined])
    await spool.remove(7, PAIR.obtainedAt)
    await spool.write(sealed)
    expect(spoolName(7, IDENTITY)).toBe('tokens-7-0b5e7a3c.spool')
    expect(await readdir(folder)).toEqual(['tokens-7-0b5e7a3c.spool'])
    expect([(await stat(folder)).mode & 0o777, await spool.list()]).toEqual([0o700, [7]])
    expect(await spool.read(7)).toEqual(sealed)
    const other = makeSpool(folder, `f${IDENTITY.slice(1)}`)
    expect([await other.list(), await other.read(7)]).toEqual([[], undefined])
    await spool.remove(7, new Date(PAIR.obtainedAt.getTime() - 1))
    expect(await spool.read(7)).toEqual(sealed)
    await spool.remove(7, PAIR.obtainedAt)
    expect(await readdir(folder)).toEqual([])
  })

  it('reads an invalid expiry as expired, and says what is damaged or unreadable', async () => {
    const folder = await openFolder()
    const spool = makeSpool(folder, IDENTITY)
    await spool.write({ ...sealed, password: null })
    const file = join(folder, spoolName(7, IDENTITY))
    const text = JSON.parse(await readFile(file, 'utf8'))
    for (const expiresAt of ['soon', '+033658-09-27T01:46:39.000Z', null, 1e300]) {
      await writeFile(file, JSON.stringify({ ...text, expiresAt }))
      expect(await spool.list()).toEqual([7])
      expect(await spool.read(7)).toEqual({ ...sealed, password: null, expiresAt: PAIR.obtainedAt })
    }
    for (const damaged of ['{', '{}', JSON.stringify({ ...text, accountId: 8 })]) {
      await writeFile(file, damaged)
      await expect(spool.read(7)).rejects.toMatchObject({ code: 'spool_damaged', accountId: 7 })
    }
    await spool.clear(7)
    await mkdir(file)
    await expect(spool.read(7)).rejects.toMatchObject({ code: 'spool_unreadable', accountId: 7 })
    await spool.clear(7)
    expect(await readdir(folder)).toEqual([])
  })
})

describe('the key file', () => {
  it('is made once, with 32 bytes, for its owner only', async () => {
    const folder = join(await openFolder(), 'new', 'data')
    expect(readSecretKeys(folder)).toEqual([])
    const key = readOrMakeSecretKey(folder)
    expect(key).toHaveLength(32)
    expect([readOrMakeSecretKey(folder), readSecretKeys(folder)]).toEqual([key, [key]])
    const modes = [await stat(folder), await stat(secretKeyPath(folder))].map(({ mode }) => mode & 0o777)
    expect([await readdir(folder), modes]).toEqual([['secret.key'], [0o700, 0o600]])
    await writeFile(secretKeyPath(folder), Buffer.alloc(31).toString('base64'))
    expect(() => readKeyFile(secretKeyPath(folder))).toThrow(withCode('secret_key_damaged'))
  })

  it('is followed by the keys of unfinished rotations, which are removed unless they seal something', async () => {
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
    await putKeyInPlace(folder, idOf(TWO))
    await putKeyInPlace(folder, idOf(TWO))
    expect(readSecretKeys(folder)).toEqual([TWO])
  })

  it('gives an error when it cannot be read, written or made', async () => {
    const folder = await openFolder()
    await writeFile(join(folder, 'file'), '')
    const inFile = join(folder, 'file', 'data')
    const [unreadable, unwritable] = [withCode('secret_key_unreadable'), withCode('secret_key_unwritable')]
    expect(() => readOrMakeSecretKey(inFile)).toThrow(unreadable)
    expect(() => readPendingIds(inFile)).toThrow(unreadable)
    await expect(writeKeyFile(secretKeyPath(inFile), ONE)).rejects.toEqual(unwritable)
    await expect(putKeyInPlace(inFile, idOf(ONE))).rejects.toEqual(unwritable)
  })
})
