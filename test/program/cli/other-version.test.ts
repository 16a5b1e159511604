import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openOlderDatabase } from '../../kit/later-migrations.ts'
import { openTestDatabase, queryOnce, type TestDatabase } from '../../kit/postgres.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const NEWER = 'this database was made by a newer musette, 9.8.7; install that version'
const OLDER = 'the database is older than this version of musette; run: musette migrate'

let folder: TempDir
const databases: Record<'newer' | 'older', TestDatabase | undefined> = { newer: undefined, older: undefined }
beforeAll(async () => {
  folder = await openTempDir('other-version')
  databases.newer = await openTestDatabase()
  databases.older = await openOlderDatabase('0016_fit_records')
  await queryOnce(
    databases.newer.url,
    `insert into musette.migrations (hash, created_at, musette) values ('later', 9999999999999, '9.8.7')`,
  )
  await queryOnce(databases.older.url, `update musette.migrations set musette = '0.0.9'`)
})
afterAll(async () => {
  await databases.newer?.close()
  await databases.older?.close()
  await folder.close()
})

const envOf = (which: 'newer' | 'older') => ({
  DATABASE_URL: databases[which]?.url ?? '',
  MUSETTE_DATA_DIR: folder.path,
})

describe.each([
  ['newer', NEWER],
  ['older', OLDER],
] as const)('a database of a version that is %s', (which, sentence) => {
  const run = (...args: string[]) => runVerb(args, { env: envOf(which) })

  it('answers SQL, with one line of warning', async () => {
    expect(await run('sql', '--csv', 'select count(*) from activities')).toMatchObject({
      code: 0,
      stdout: 'count\n0\n',
      stderr: `WARNING:  ${sentence}\n`,
    })
  })

  it('has its URL printed, with one line of warning', async () => {
    expect(await run('db-url')).toMatchObject({
      code: 0,
      stdout: `${databases[which]?.url}\n`,
      stderr: `musette: ${sentence}\n`,
    })
  })
})

it('a reading login, which cannot see the version, gets its rows without a warning', async () => {
  const { url = '' } = databases.newer ?? {}
  const role = `reads_${process.pid}`
  await queryOnce(url, `create role ${role} login password 'reads' in role musette_reader`)
  try {
    const login = new URL(url)
    login.username = role
    login.password = 'reads'
    const env = { ...envOf('newer'), DATABASE_URL: login.href }
    expect(await runVerb(['sql', '--csv', 'select count(*) from activities'], { env })).toMatchObject({
      code: 0,
      stdout: 'count\n0\n',
      stderr: '',
    })
  } finally {
    await queryOnce(url, `drop role ${role}`)
  }
})
