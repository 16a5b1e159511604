import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/core/store/store.ts'
import { openEmbeddedPostgres } from '../../../src/embedded/embedded.ts'
import { acquireLock } from '../../../src/embedded/lock.ts'
import { copyServer } from '../../../src/features/backup/copy-server.ts'
import { backup } from '../../../src/features/backup/feature.ts'
import { FEATURES } from '../../../src/features/index.ts'
import { closeAfter } from '../../../src/kit/release-stack.ts'
import { bringToMajor, type ServerCopy } from '../../../src/program/app/open-database.ts'
import { exitFor } from '../../../src/program/frame/context.ts'
import { upsertReaderLogin } from '../../../src/program/query/reader-login.ts'
import { readerUrl } from '../../../src/program/query/reader-url.ts'
import { restoreAsItWas } from '../../flows/upgrade/as-it-was.ts'
import { type Content, contentOf } from '../../flows/upgrade/database-state.ts'
import { runsWith } from '../../kit/binaries.ts'
import { readConfig } from '../../kit/config.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { addPrograms, hasPostgres17, makeOlderCluster, runOlderCluster } from '../../kit/older-cluster.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath, runNode, startNode } from '../../kit/processes.ts'
import { sample, whole } from '../../kit/sampling.ts'
import { canMount, fillDisk, openSmallDisk } from '../../kit/small-disk.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

const log = makeSilentLog()
const BACKUP = 'test/flows/upgrade/made-by/1.0.0.backup'
const SLOW = 600_000
const PASSWORD = 'a password of readers'.replaceAll(' ', '-')
/** Tables whose rows this version derives again, and those that record the new line of the database. */
const DERIVED = ['content_versions', 'activities', 'changes', 'database', 'power_curves', 'ride_measures']
const KILL_AT = fileURLToPath(new URL('./kill-at.mjs', import.meta.url))

describe.runIf(runsWith(hasPostgres17))('an embedded Postgres of an earlier major', () => {
  /** The files of a Postgres 17 with the tables and rows of 1.0.0. */
  let made: TempDir
  let before: Content
  let folder: TempDir
  let dataDir: string
  beforeAll(async () => {
    made = await openTempDir('major')
    await makeOlderCluster(made.path, async (url) => {
      await restoreAsItWas(BACKUP, url)
      await queryOnce(url, 'delete from musette.credentials')
      const store = openStore({ log }, { connectionString: url })
      await store.transaction(async (tx) => {
        for (const name of ['analyst', 'coach'])
          await upsertReaderLogin(tx, {
            name,
            password: PASSWORD,
            statementTimeoutMs: 60_000,
            wholeServer: true,
          })
      })
      await store.close()
      // Limits a login to one account as 1.1 does.
      await queryOnce(
        url,
        `do $$ declare held text := 'musette_account_' || (select oid from pg_database where datname = current_database()) || '_1'; begin
          execute format('create role %I; create role musette_one_account; grant %I, musette_one_account to coach', held, held); end $$`,
      )
      before = await contentOf(url)
      await queryOnce(url, 'create table public.notes (text text); create role grafana login')
    })
  })
  afterAll(() => made?.close())
  beforeEach(async () => {
    folder = await openTempDir('major')
    dataDir = join(folder.path, 'my data')
    await copyMade()
  })
  afterEach(() => folder.close())

  const copyMade = () => promisify(execFile)('cp', ['-a', `${made.path}/.`, dataDir])
  const settings = (env: Record<string, string> = {}) => ({
    env: { MUSETTE_DATA_DIR: dataDir, MUSETTE_HTTP: 'off', MUSETTE_BACKUP_DIR: 'off', ...env },
    timeoutMs: 300_000,
  })
  const musette = (verb: string, env?: Record<string, string>) =>
    runNode([distPath('main.js'), ...verb.split(' ')], settings(env))
  const foldersOf = async () =>
    (await readdir(dataDir)).filter((name) => /^postgres(\.(next|ready|old-.*))?$/.test(name))
  const majorOf = async (name = 'postgres') =>
    (await readFile(join(dataDir, name, 'PG_VERSION'), 'utf8')).trim()
  const expectOld = async () => expect([await foldersOf(), await majorOf()]).toEqual([['postgres'], '17'])

  /** Expects every row of `before`; for rows that this version derives again, only their number. */
  async function expectNew(): Promise<void> {
    const now = await closeAfter(await openEmbeddedPostgres({ log }, { dataDir }), async ({ url }) => {
      for (const name of ['analyst', 'coach']) {
        const rows = await queryOnce(
          readerUrl(url, { name, password: PASSWORD }),
          'select count(*)::int as count from training.samples',
        )
        expect(rows, name).toEqual([{ count: 800 }])
      }
      return contentOf(url, before)
    })
    expect([await foldersOf(), await majorOf(), await majorOf('postgres.old-17')]).toEqual([
      ['postgres', 'postgres.old-17'],
      '18',
      '17',
    ])
    const rowsOf = ({ rows }: Content) =>
      Object.entries(rows).map(([name, text]) =>
        DERIVED.includes(name.split('.')[1] ?? '')
          ? [name, name.endsWith('changes') || String(text).split(',')[0]]
          : [name, text],
      )
    expect(rowsOf(now)).toEqual(rowsOf(before))
  }

  const bring = (copy: ServerCopy, signal = new AbortController().signal) =>
    bringToMajor(
      { config: readConfig({ MUSETTE_DATA_DIR: dataDir, MUSETTE_BACKUP_DIR: 'off' }), log, signal },
      FEATURES.map((feature) => (feature === backup ? { copyTables: async () => copy } : feature)),
      {},
    )

  it(
    'names the command that fetches its programs, then is upgraded with every row',
    async () => {
      const refused = await musette('migrate')
      expect(refused).toMatchObject({ code: 2, stdout: '' })
      const plan = await musette('migrate --plan')
      const [, command = ''] = /first run: (npm install .*)\n/.exec(plan.stdout) ?? []
      expect(refused.stderr).toContain(`not installed; first run: ${command}\n`)
      expect((await musette('status')).stderr).toContain(`run: MUSETTE_DATA_DIR='${dataDir}' musette migrate`)
      await expectOld()
      await promisify(execFile)('sh', ['-c', command], {
        env: { ...process.env, npm_config_prefer_offline: 'true' },
      })

      const whole17 = await musette('migrate --plan --json')
      expect(JSON.parse(whole17.stdout)).toMatchObject({
        from: '0017_ride_measures',
        postgres: { from: '17', to: '18', left_out: ['login grafana', 'table public.notes'] },
      })
      await expectOld()
      const migrated = await musette('migrate', {
        NODE_OPTIONS: `--import ${KILL_AT}`,
        MUSETTE_BACKUP_DIR: '',
      })
      expect(await readdir(join(dataDir, 'backups'))).toEqual([expect.stringMatching(/^musette-.*\.tar$/)])
      expect(migrated.stdout).toMatch(
        /^upgraded Postgres 17 to 18\ncopied: 41 tables with 1,267 rows, each compared\n.*copied: reading login analyst\ncopied: reading login coach\nnot copied, stays in the old files: login grafana\n/s,
      )
      await expectNew()
      expect((await musette('migrate --forget-old')).stdout).toMatch(/postgres\.old-17, \d+ MB: removed/)
      expect(await foldersOf()).toEqual(['postgres'])
    },
    SLOW,
  )

  const DECIDED = ['after rename postgres.next', 'before rename postgres', 'after rename postgres']
  /** Kill moments by number or name: queries, and the renames that decide the outcome; see kill-at.mjs. */
  const KILLS = [
    ...Array.from({ length: 36 }, (_, n) => String(5 + n * 12)),
    'before rename postgres.next',
    ...DECIDED,
  ]

  it(
    'has complete old or new files, whenever the upgrade is killed',
    async () => {
      await addPrograms(dataDir)
      for (const moment of [...sample(KILLS.slice(0, -DECIDED.length), 1), ...sample(DECIDED, 1)]) {
        const killed = await musette('migrate', { NODE_OPTIONS: `--import ${KILL_AT}`, KILL_AT: moment })
        expect(killed, moment).toMatchObject({ signal: 'SIGKILL' })
        const left = await foldersOf()
        const isDecided = left.includes('postgres.ready') || left.includes('postgres.old-17')
        expect(isDecided, moment).toBe(DECIDED.includes(moment))
        if (!isDecided) expect([left.includes('postgres'), await majorOf()], moment).toEqual([true, '17'])
        if (!isDecided) continue
        await expectNew()
        await rm(dataDir, { recursive: true })
        await copyMade()
        await addPrograms(dataDir)
      }
      const decided = await musette('migrate', {
        NODE_OPTIONS: `--import ${KILL_AT}`,
        KILL_AT: 'after rename postgres.next',
      })
      expect(decided).toMatchObject({ signal: 'SIGKILL' })
      // An older musette writes to the old files, so they are newer than the new files.
      await runOlderCluster(dataDir, (url) =>
        queryOnce(url, "update training.uploads set file_name = 'newer.fit' returning file_name"),
      )
      const daemon = startNode([distPath('main.js'), 'start'], settings())
      await daemon.waitForLine(/"msg":"started"/, 300_000)
      await daemon.kill('SIGTERM')
      const names = await closeAfter(await openEmbeddedPostgres({ log }, { dataDir }), ({ url }) =>
        queryOnce(url, 'select file_name from training.uploads'),
      )
      expect([names, await majorOf()]).toEqual([[{ file_name: 'newer.fit' }], '18'])
    },
    whole ? 1_800_000 : SLOW,
  )

  it(
    'keeps the old files if the copy fails or has no room; one process at a time upgrades',
    async () => {
      // Mounting a small disk needs root and Linux.
      const disk = canMount() ? await openSmallDisk(450) : undefined
      if (disk) dataDir = join(disk, 'data')
      await copyMade()
      await addPrograms(dataDir)
      const lock = await acquireLock(dataDir)
      await expect(bring(copyServer)).rejects.toMatchObject({ code: 'embedded_in_use' })
      await lock?.release()
      await mkdir(join(dataDir, 'postgres.old-17'))
      await expect(bring(copyServer)).rejects.toMatchObject({ code: 'embedded_kept' })
      await rmdir(join(dataDir, 'postgres.old-17'))
      const stop = new AbortController()
      const late = bring(async (deps, servers) => {
        await expect(bring(copyServer)).rejects.toMatchObject({ code: 'embedded_changing' })
        await expect(openEmbeddedPostgres({ log }, { dataDir })).rejects.toMatchObject({
          code: 'embedded_changing',
        })
        const copied = copyServer(deps, servers)
        stop.abort()
        return copied
      }, stop.signal)
      await expect(late).rejects.toMatchObject({ name: 'AbortError' })
      await expectOld()
      if (disk) {
        const filler = await fillDisk(dataDir, 300_000_000)
        await expect(bring(copyServer)).rejects.toMatchObject({
          code: 'embedded_room',
          message: expect.stringMatching(/need \d+ MB beside them, and the disk has 300 MB; make room/),
        })
        await rm(filler)
        const all = await fillDisk(dataDir)
        const { code, sentence } = exitFor(await bring(copyServer).catch((error: unknown) => error))
        expect({ code, sentence }).toEqual({
          code: 4,
          sentence: expect.stringMatching(/^musette: [^\n]+; make room\b.*$/),
        })
        await rm(all)
        const full = bring(async (deps, servers) => {
          await fillDisk(dataDir, 3_000_000)
          return copyServer(deps, servers)
        })
        await expect(full).rejects.toMatchObject({
          name: 'TransientError',
          message: expect.stringMatching(/no space left on device|MB left, and Postgres needs/),
        })
        await expectOld()
      }
    },
    SLOW,
  )
})
