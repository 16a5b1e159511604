import { beforeAll, describe, expect, it } from 'vitest'
import { openOlderDatabase } from '../../kit/later-migrations.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const NEWER = 'this database was made by a newer musette, 9.8.7; install that version'
const OLDER = 'the database is older than this version of musette; run: musette migrate'

const folder = openForAll(() => openTempDir('other-version'))

describe.each<[is: string, sentence: string, open: () => Promise<TestDatabase>, change: string]>([
  [
    'newer',
    NEWER,
    openTestDatabase,
    `insert into musette.migrations (hash, created_at, musette) values ('later', 9999999999999, '9.8.7')`,
  ],
  [
    'older',
    OLDER,
    () => openOlderDatabase('0016_fit_records'),
    `update musette.migrations set musette = '0.0.9'`,
  ],
])('a database of a version that is %s', (_is, sentence, open, change) => {
  const database = openForAll(open)
  beforeAll(async () => void (await queryOnce(database.url, change)))
  const run = (args: readonly string[], as = database.url) =>
    runVerb(args, { env: { DATABASE_URL: as, MUSETTE_DATA_DIR: folder.path } })
  const count = ['sql', '--csv', 'select count(*) from activities']
  const answer = { code: 0, stdout: 'count\n0\n' }

  it('answers SQL, with a warning of one line', async () => {
    expect(await run(count)).toMatchObject({ ...answer, stderr: `WARNING:  ${sentence}\n` })
    const printed = { code: 0, stdout: `${database.url}\n`, stderr: `musette: ${sentence}\n` }
    expect(await run(['db-url'])).toMatchObject(printed)
  })

  it('gives rows without a warning to a reading login, which cannot see the version', async () => {
    const role = `reads_${process.pid}`
    await queryOnce(database.url, `create role ${role} login password 'reads' in role musette_reader`)
    try {
      const login = Object.assign(new URL(database.url), { username: role, password: 'reads' })
      expect(await run(count, login.href)).toMatchObject({ ...answer, stderr: '' })
    } finally {
      await queryOnce(database.url, `drop role ${role}`)
    }
  })
})
