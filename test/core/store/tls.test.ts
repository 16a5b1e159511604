import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openStore } from '../../../src/core/store/store.ts'
import { PostgresClient } from '../../../src/kit/postgres-client.ts'
import { findBinary } from '../../kit/binaries.ts'
import { makeCertificates } from '../../kit/certificates.ts'
import { readSettings } from '../../kit/config.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { openTlsFront, type TlsFront } from '../../kit/tls-front.ts'

let folder: TempDir
let server: TlsFront

function urlWith(parameters: string, at: { host?: string; port?: number } = {}): string {
  const url = new URL(inject('postgresUrl'))
  if (at.host) url.hostname = at.host
  if (at.port) url.port = String(at.port)
  return `${url.href}${url.search === '' ? '?' : '&'}${parameters}`
}

/** Connects to a host and tells whether the connection was encrypted. */
async function isSecured(host: string, parameters: string): Promise<boolean> {
  const before = server.secured()
  const connectionString = urlWith(parameters, { host, port: server.port })
  const client = new PostgresClient({ connectionString })
  client.on('error', () => undefined)
  await client.connect()
  await client.query('select 1')
  await client.end()
  return server.secured() > before
}

const authority = () => `sslrootcert=${join(folder.path, 'ca.crt')}`

describe.runIf(findBinary(['openssl']))('sslmode of DATABASE_URL', () => {
  beforeAll(async () => {
    folder = await openTempDir('tls')
    await makeCertificates(folder.path)
    server = await openTlsFront(folder.path, inject('postgresUrl'))
  })
  afterAll(async () => {
    await server?.close()
    await folder?.close()
  })

  it('encrypts with require, prefer and allow, and accepts any certificate', async () => {
    for (const mode of ['require', 'prefer', 'allow', 'no-verify'])
      expect(await isSecured('localhost', `sslmode=${mode}`), mode).toBe(true)
  })

  it('does not encrypt with disable, nor without sslmode', async () => {
    for (const parameters of ['', 'sslmode=disable'])
      expect(await isSecured('localhost', parameters)).toBe(false)
  })

  it('verifies the authority with verify-ca, and with require and a sslrootcert', async () => {
    for (const mode of ['verify-ca', 'require']) {
      expect(await isSecured('127.0.0.1', `sslmode=${mode}&${authority()}`), mode).toBe(true)
      const other = `sslrootcert=${join(folder.path, 'server.crt')}`
      await expect(isSecured('127.0.0.1', `sslmode=${mode}&${other}`)).rejects.toThrow()
    }
    await expect(isSecured('localhost', 'sslmode=require&sslrootcert=system')).rejects.toThrow()
  })

  it('also verifies the name with verify-full', async () => {
    expect(await isSecured('localhost', `sslmode=verify-full&${authority()}`)).toBe(true)
    await expect(isSecured('127.0.0.1', `sslmode=verify-full&${authority()}`)).rejects.toThrow(/altnames/)
    await expect(isSecured('localhost', 'sslmode=verify-full')).rejects.toThrow()
  })

  it('says in a sentence that a certificate cannot be trusted', async () => {
    const { log } = makeTestLog()
    const connectionString = `postgres://nobody@localhost:${server.port}/none?sslmode=verify-full`
    const store = openStore({ log }, { connectionString })
    await expect(store.read(async () => undefined)).rejects.toMatchObject({
      code: 'database_certificate',
      message: expect.stringMatching(
        /^the certificate of the database comes from an authority .*sslrootcert/,
      ),
    })
    await store.close()
  })
})

describe('a Postgres without TLS', () => {
  const read = async (parameters: string) => {
    const { log } = makeTestLog()
    const store = openStore({ log }, { connectionString: urlWith(parameters) })
    try {
      await store.read(async () => undefined)
    } finally {
      await store.close()
    }
  }

  it('is used with prefer and allow, even when the password is sent by SCRAM only', async () => {
    await read('sslmode=prefer')
    await read('sslmode=allow')
  })

  it('is not used with require, and the message says so', async () => {
    for (const mode of ['require', 'verify-full', 'no-verify'])
      await expect(read(`sslmode=${mode}`)).rejects.toMatchObject({
        message: expect.stringMatching(/^the database offers no encryption, and sslmode in DATABASE_URL/),
      })
  })
})

it('TLS parameters without effect are reported with other wrong settings', () => {
  const problemsOf = (parameters: string) =>
    readSettings({ DATABASE_URL: `postgres://a:b@localhost/c${parameters}` }).problems.map(
      ({ sentence }) => sentence,
    )
  expect(problemsOf('?sslmode=required')).toEqual([
    expect.stringContaining('has an sslmode that is not one of'),
  ])
  expect(problemsOf('?sslmode=verify-ca')).toEqual([expect.stringContaining('needs sslrootcert=FILE')])
  expect(problemsOf('?sslmode=require&sslrootcert=/nowhere')).toEqual([
    'names in sslrootcert a file that cannot be read',
  ])
  expect(problemsOf('?sslmode=require')).toEqual([])
})
