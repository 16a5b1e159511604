import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openEmbeddedPostgres } from '../../src/embedded/embedded.ts'
import { acquireLock } from '../../src/embedded/lock.ts'
import { eventually } from '../kit/eventually.ts'
import { makeSilentLog, makeTestLog } from '../kit/log.ts'
import { openForAll, openForEach } from '../kit/open-for.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { copyMade, openMade } from './made.ts'
import { startChild } from './owner-child.ts'

const made = openForAll(openMade)
const folder = openForEach(() => openTempDir('unusable'))
const place = (name: string) => join(folder.path, name)
const open = () => openEmbeddedPostgres({ log: makeSilentLog() }, { dataDir: folder.path })

it.each([
  ['whose control file is cut', 'truncate -s 100 postgres/global/pg_control', /read 100 of \d+$/],
  ['without WAL', 'rm -r postgres/pg_wal', /required WAL directory "pg_wal" does not exist$/],
  ['whose WAL is empty', 'rm postgres/pg_wal/0*', /could not locate a valid checkpoint record/],
  ['without a version', 'rm postgres/PG_VERSION', /it has no PG_VERSION$/],
  ['with one missing part', 'rm postgres/base/*/PG_VERSION', /"base\/\d+" is not a valid data directory$/],
])(
  'files %s are reported as damaged, with the reason, and are not changed',
  async (_what, damage, reason) => {
    await copyMade(made, folder)
    const sh = (script: string) => execFileSync('sh', ['-c', script], { cwd: folder.path, encoding: 'utf8' })
    sh(damage)
    const before = sh('ls postgres')
    const error = await open().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ConfigError', code: 'embedded_damaged' })
    expect(String(error)).toMatch(reason)
    expect(String(error)).not.toContain('initdb')
    expect(sh('ls postgres')).toBe(before)
  },
)

it.each([
  ['that others may use', 'change their mode', 'chmod 755 postgres', /run: (chmod 700 .*)$/],
  [
    'of settings that link elsewhere',
    'remove them',
    'ln -sf /proc/version postgres/pg_hba.conf',
    /run: (rm .*)$/,
  ],
])('files %s are refused, with the command to %s', async (_what, _mend, change, suggested) => {
  await copyMade(made, folder)
  execFileSync('sh', ['-c', change], { cwd: folder.path })
  const error = await open().catch((thrown: unknown) => thrown)
  const [, command = ''] = suggested.exec(String(error)) ?? []
  execFileSync('sh', ['-c', command])
  await (await open()).close()
})

it.each([
  ['server', 'postmaster.pid'],
  ['owner', undefined],
])(
  'a command says within ten seconds that the %s is stopped, and how to continue it',
  async (_what, pidFile) => {
    await copyMade(made, folder)
    const owner = startChild(folder.path)
    onTestFinished(() => owner.kill('SIGKILL').then(() => undefined))
    await owner.opened
    const server = Number.parseInt(await readFile(place('postgres/postmaster.pid'), 'utf8'), 10)
    const stopped = pidFile ? server : Number(JSON.parse(await readFile(place('postgres.owner'), 'utf8')).pid)
    process.kill(stopped, 'SIGSTOP')
    onTestFinished(() => void process.kill(stopped, 'SIGCONT'))
    // The server of a stopped owner answers; a server that has ended is not started again.
    if (!pidFile) process.kill(server, 'SIGKILL')
    const begun = Date.now()
    const error = await open().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'TransientError', code: 'embedded_not_ready' })
    expect(String(error)).toMatch(
      new RegExp(`process ${stopped} is stopped; its log ends with: .*; run: kill -CONT ${stopped}$`),
    )
    expect(Date.now() - begun).toBeLessThan(10_000)
  },
)

it('a command says within seconds that the server is recovering, and waits', async () => {
  // The answer of a recovering server: an error with this SQLSTATE.
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0')
  const answer = Buffer.concat([Buffer.from('E\0\0\0'), Buffer.from([fields.length + 4]), fields])
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(answer))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await writeFile(place('postgres.json'), JSON.stringify({ port, password: '0'.repeat(48) }))
  await writeFile(place('postgres.log'), '2026-01-01 00:00:00.000 UTC [7] LOG:  redo in progress\n')
  const lock = await acquireLock(folder.path)
  const { log, lines } = makeTestLog()
  const leaving = new AbortController()
  const waiting = openEmbeddedPostgres({ log, signal: leaving.signal }, { dataDir: folder.path })
  const said = { level: 'warn', line: 'redo in progress', msg: expect.stringContaining('is recovering') }
  await eventually(() => expect(lines).toContainEqual(expect.objectContaining(said)), { what: 'the report' })
  leaving.abort()
  await expect(waiting).rejects.toThrow()
  await lock?.release()
  await rm(place('postgres.json'))
})
