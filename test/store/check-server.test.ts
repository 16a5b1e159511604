import { randomBytes } from 'node:crypto'
import { expect, inject, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { makeSilentLog } from '../kit/log.ts'
import { queryOnce } from '../kit/postgres.ts'

test.each(['LATIN1', 'SQL_ASCII'])(
  'a database of encoding %s is refused with the command that makes another one',
  async (encoding) => {
    const server = inject('postgresUrl')
    const name = `test_${randomBytes(6).toString('hex')}`
    await queryOnce(server, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}' LOCALE 'C'`)
    const url = new URL(`/${name}`, server).href
    try {
      await expect(migrate({ connectionString: url, log: makeSilentLog() })).rejects.toMatchObject({
        code: 'database_encoding',
        message: expect.stringMatching(
          new RegExp(`is ${encoding},.*createdb --template=template0 --encoding=UTF8`),
        ),
      })
      expect(await queryOnce(url, `select to_regnamespace('musette') as made`)).toEqual([{ made: null }])
    } finally {
      await queryOnce(server, `DROP DATABASE ${name} WITH (FORCE)`)
    }
  },
)
