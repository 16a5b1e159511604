import { execFileSync } from 'node:child_process'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { formatPaperKey } from '../../../src/core/vault/paper-key.ts'
import { openEmbeddedPostgres } from '../../../src/embedded/embedded.ts'
import { closeAfter } from '../../../src/kit/release-stack.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openSignedIn, typeVerb } from '../../program/doctor/rig.ts'
import { contentOf } from './rig.ts'

const rig = openForAll(openSignedIn)

it('a backup is restored on a bare machine row for row; both commands name the key', async () => {
  const file = join(rig.dataDir, 'mirror.tar')
  const keyFile = join(rig.dataDir, 'secret.key')
  await queryOnce(rig.databaseUrl, 'create index mine on training.activities (name)')
  const { stderr } = await rig.musette(['backup', file])
  expect(stderr).toMatch(/wrote \d+ tables with [\d,]+ rows to .*mirror\.tar, [\d.]+ [kM]B/)
  expect(stderr).toContain(
    `the key that decrypts the logins is not in the backup; keep a copy of the key file ${keyFile}`,
  )
  const sentence = "is not musette's and is not in the backup; copy it with pg_dump"
  expect(stderr).toContain(`musette: index training.mine ${sentence}`)
  expect(stderr.split(sentence)).toHaveLength(2)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const key = await readFile(keyFile, 'utf8')
  expect((await readFile(file)).includes(Buffer.from(key, 'base64'))).toBe(false)

  const { path: dataDir, close } = await openTempDir('backup')
  onTestFinished(close)
  const bare = { DATABASE_URL: '', MUSETTE_DATA_DIR: dataDir }
  const restored = await rig.musette(['restore', file], { env: bare })
  expect(restored.code, restored.stderr).toBe(0)
  expect(restored.stderr).toMatch(
    /the key [0-9a-f]{8} of the login of "default" is not here; .*musette login\n/,
  )
  const server = await openEmbeddedPostgres({ log: makeSilentLog() }, { dataDir })
  const found = await closeAfter(server, ({ url }) => contentOf(url))
  expect(found).toEqual(await contentOf(rig.databaseUrl))
  const paper = join(rig.dataDir, 'paper.txt')
  await writeFile(paper, formatPaperKey(Buffer.from(key, 'base64')).join('\n'))
  await typeVerb('musette key import', restored.stderr, { env: bare, fill: { FILE: paper } })
  const again = await rig.musette(['sync'], { env: bare })
  expect(again.stderr).toContain('nothing new; 2 activities here')
}, 120_000)

it('a backup goes through a pipe into another database', async () => {
  const { url, close } = await openTestDatabase({ migrated: false })
  onTestFinished(close)
  const env = { PATH: process.env.PATH, ...rig.env }
  const command = `"$0" "$1" backup - | DATABASE_URL='${url}' "$0" "$1" restore -`
  const args = ['-o', 'pipefail', '-c', command, process.execPath, distPath('main.js')]
  execFileSync('bash', args, { env, stdio: 'pipe' })
  expect(await contentOf(url)).toEqual(await contentOf(rig.databaseUrl))
})

// Writes to /dev/full fail as on a full disk.
it.each([
  [4, 'backup', '/dev/full', /\/dev\/full cannot be written: the disk is full \(ENOSPC\); .* make room/],
  [2, 'backup', 'nowhere/a.tar', /\S+a\.tar cannot be written \(ENOENT/],
  [2, 'restore', 'nowhere.tar', /\S*nowhere\.tar cannot be read \(ENOENT/],
  [2, 'backup --verify', 'nowhere.tar', /\S*nowhere\.tar cannot be read \(ENOENT/],
  [2, 'restore', join(process.cwd(), 'package.json'), /this is not a backup of musette/],
  [2, 'backup', 'empty.tar', /there is nothing to back up/],
])('exits %i: musette %s %s', async (code, verb, path, sentence) => {
  const empty = await openTestDatabase()
  onTestFinished(() => empty.close())
  const env = path === 'empty.tar' ? { DATABASE_URL: empty.url } : {}
  const before = await readdir(rig.dataDir)
  expect(await rig.musette([...verb.split(' '), path], { env })).toMatchObject({
    code,
    stderr: expect.stringMatching(sentence),
  })
  expect(await readdir(rig.dataDir)).toEqual(before)
})
