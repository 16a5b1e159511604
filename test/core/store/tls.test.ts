import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { openStore } from '../../../src/core/store/store.ts'
import { PostgresClient } from '../../../src/kit/postgres-client.ts'
import { findBinary } from '../../kit/binaries.ts'
import { makeCertificates } from '../../kit/certificates.ts'
import { readSettings } from '../../kit/config.ts'
import { readTable } from '../../kit/table.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { openTlsFront, type TlsFront } from '../../kit/tls-front.ts'
import { quiet } from './open.ts'

function urlWith(parameters: string, at: { host?: string; port?: number } = {}): string {
  const url = new URL(inject('postgresUrl'))
  if (at.host) url.hostname = at.host
  if (at.port) url.port = String(at.port)
  return `${url.href}${url.search === '' ? '?' : '&'}${parameters}`
}

describe.runIf(findBinary(['openssl']))('sslmode of DATABASE_URL', () => {
  let folder: TempDir
  let server: TlsFront
  beforeAll(async () => {
    folder = await openTempDir('tls')
    await makeCertificates(folder.path)
    server = await openTlsFront(folder.path, inject('postgresUrl'))
  })
  afterAll(async () => {
    await server?.close()
    await folder?.close()
  })

  /** Connects to a server whose certificate is for localhost and comes from a private authority. Returns how the connection was made. */
  const connect = async (host: string, parameters: string) => {
    const before = server.secured()
    const at = { host, port: server.port }
    const connectionString = urlWith(parameters.replace('{dir}', folder.path), at)
    const client = new PostgresClient({ connectionString })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query('select 1')
      return server.secured() > before ? 'encrypted' : 'plain'
    } catch {
      return 'refused'
    } finally {
      await client.end()
    }
  }

  it.each(
    readTable(`
      localhost | | plain
      localhost | sslmode=disable | plain
      localhost | sslmode=allow | encrypted
      localhost | sslmode=prefer | encrypted
      localhost | sslmode=require | encrypted
      localhost | sslmode=no-verify | encrypted
      localhost | sslmode=require&sslrootcert=system | refused
      127.0.0.1 | sslmode=require&sslrootcert={dir}/ca.crt | encrypted
      127.0.0.1 | sslmode=require&sslrootcert={dir}/server.crt | refused
      127.0.0.1 | sslmode=verify-ca&sslrootcert={dir}/ca.crt | encrypted
      127.0.0.1 | sslmode=verify-ca&sslrootcert={dir}/server.crt | refused
      localhost | sslmode=verify-full | refused
      localhost | sslmode=verify-full&sslrootcert={dir}/ca.crt | encrypted
      127.0.0.1 | sslmode=verify-full&sslrootcert={dir}/ca.crt | refused`),
  )('makes a connection to %s with "%s" %s', async (host = '', parameters = '', outcome) => {
    expect(await connect(host, parameters)).toBe(outcome)
  })

  it('has a message that says why a certificate cannot be trusted', async () => {
    const connectionString = `postgres://nobody@localhost:${server.port}/none?sslmode=verify-full`
    const store = openStore({ log: quiet }, { connectionString })
    await expect(store.read(async () => undefined)).rejects.toMatchObject({
      code: 'database_certificate',
      message: expect.stringMatching(
        /^the certificate of the database is signed by an unknown authority.*sslrootcert/,
      ),
    })
    await store.close()
  })
})

describe('a Postgres without TLS', () => {
  const read = async (parameters: string) => {
    const store = openStore({ log: quiet }, { connectionString: urlWith(parameters) })
    try {
      await store.read(async () => undefined)
    } finally {
      await store.close()
    }
  }

  it('is used with prefer and allow, even if the password is sent only by SCRAM', async () => {
    await read('sslmode=prefer')
    await read('sslmode=allow')
  })

  it('is not used with require, and the message says why', async () => {
    for (const mode of ['require', 'verify-full', 'no-verify'])
      await expect(read(`sslmode=${mode}`)).rejects.toMatchObject({
        message: expect.stringMatching(/^the database offers no encryption, and sslmode in DATABASE_URL/),
      })
  })
})

it.each(['sslmode=required', 'sslmode=verify-ca', 'sslmode=require&sslrootcert=/nowhere'])(
  'a TLS parameter without effect is a wrong setting: %s',
  (parameters) => {
    const { problems } = readSettings({ DATABASE_URL: `postgres://a:b@localhost/c?${parameters}` })
    expect(problems).toHaveLength(1)
  },
)
