import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { openWatch } from '../../../src/core/dropfolder/watch.ts'
import { serverFindings } from '../../../src/program/doctor/check-database.ts'
import { checkDropFolder, probeFolder } from '../../../src/program/doctor/check-folders.ts'
import { checkDiskSpace, checkOtherUsers } from '../../../src/program/doctor/check-machine.ts'
import { readSettings } from '../../kit/config.ts'
import { openDisk, whyNoDisk } from '../../kit/disks.ts'
import { openForEach, openForTest } from '../../kit/open-for.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const folder = openForEach(() => openTempDir('checks'))

const configOf = (env: Record<string, string> = {}) =>
  readSettings({ MUSETTE_DATA_DIR: folder.path, MUSETTE_DROP_DIR: join(folder.path, 'drop'), ...env })

describe('other users of the machine', () => {
  const PASSWD = `root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/bin/sh
daemon:x:1500:1500:a service:/:/usr/sbin/nologin
me:x:${process.getuid?.()}:1000::/home/me:/bin/bash
ann:x:4242:4242:Ann,,,:/home/ann:/bin/zsh\n`
  const TOKEN = 'a-token-of-16-and-more'

  it.each([
    ['are named while the page asks for no token, with what ends it', {}, PASSWD, 'ann may read the page'],
    ['cannot use it with a token', { MUSETTE_HTTP_TOKEN: TOKEN }, PASSWD, 'cannot use the page'],
    ['are none', {}, PASSWD.replace(/^ann.*/m, ''), 'found no other people who may sign in'],
  ])('%s', async (_what, env, text, found) => {
    const path = join(folder.path, 'passwd')
    await writeFile(path, text)
    const [finding] = await checkOtherUsers(configOf(env), path)
    expect(finding).toMatchObject({ state: 'ok', found: expect.stringContaining(found) })
    const command = 'export MUSETTE_HTTP_TOKEN="$(openssl rand -hex 24)"'
    expect(finding?.run).toBe(found.startsWith('ann') ? command : undefined)
  })
})

it.each([
  ['100 MB left', { bytes: 100e6, files: 500 }, 'problem'],
  ['50 GB left', { bytes: 50e9, files: 500 }, 'ok'],
  ['no inodes left', { bytes: 50e9, files: 0 }, 'problem'],
  ['inodes that are not counted', { bytes: 50e9, files: Infinity }, 'ok'],
])('a disk with %s is a finding of kind %s', async (_what, facts, state) => {
  const run = state === 'problem' ? { run: `df -h ${folder.path}` } : {}
  expect(await checkDiskSpace(configOf(), async () => facts)).toMatchObject([{ state, ...run }])
})

it('shows no free space of this machine as that of a database elsewhere', async () => {
  const facts = async () => ({ bytes: 50e9, files: 1e6 })
  const [here] = await checkDiskSpace(configOf(), facts)
  const [elsewhere] = await checkDiskSpace(configOf({ DATABASE_URL: 'postgres://me@db/x' }), facts)
  expect(elsewhere?.found).toBe(`${here?.found}, which need not be that of the database`)
})

describe('a Postgres server', () => {
  const facts = {
    ...{ version: '15.4', version_number: 150_004, connections: 97, connections_of_others: 10 },
    ...{ size_bytes: 1e9, autovacuum: true, is_superuser: true, limits: [], read_only_by: null },
    ...{ creators_in_public: [], checksum_failures: 0, checksum_last_failure: null },
  }
  const run = (statement: string) => expect.stringContaining(`musette sql --write "${statement}`)

  it.each([
    ['with room for everything is fine', {}, undefined],
    [
      'with too few free connections gets the needed number',
      { connections_of_others: 80 },
      { state: 'warning', run: run('alter system set max_connections = 118"') },
    ],
    [
      'on which others may create functions in schema public names each, and puts only plain names into the command',
      { creators_in_public: ['bob', '$(reboot)'] },
      {
        state: 'warning',
        found: expect.stringContaining(': bob, $(reboot)'),
        run: run('revoke create on schema public from public, bob"'),
      },
    ],
    [
      'that does not vacuum, for a login that may not set that, names it',
      { autovacuum: false, is_superuser: false },
      { found: expect.stringContaining('type: alter system set autovacuum = on; select pg_reload_conf()') },
    ],
  ])('%s', (_what, other, finding) => {
    const findings = serverFindings({ ...facts, ...other }, 28)
    expect(findings).toMatchObject(finding ? [finding] : [])
    if (finding && !('run' in finding)) expect(findings[0]).not.toHaveProperty('run')
  })
})

describe('the drop folder', () => {
  const probed = (answer: { noticed: boolean; refused?: unknown }) => async () => answer
  const drop = () => join(folder.path, 'drop')

  it('is tested with a file that is noticed and removed', async () => {
    await mkdir(join(drop(), 'other account'), { recursive: true })
    expect(await probeFolder(drop())).toEqual({ noticed: true })
    expect(await checkDropFolder(configOf())).toMatchObject([{ state: 'ok' }])
    expect(await readdir(drop())).toEqual(['other account'])
  })

  it('without events should be polled', async () => {
    await mkdir(drop())
    // A share: the watch stands, and then nothing comes.
    const watchFolder: typeof openWatch = ({ onHint }) => {
      onHint()
      return { close: async () => undefined }
    }
    const deaf = (path: string) => probeFolder(path, { watchFolder, withinMs: 100 })
    const findings = await checkDropFolder(configOf(), deaf)
    expect(findings).toMatchObject([{ state: 'warning', run: 'export MUSETTE_WATCH_POLLING=true' }])
    expect(await readdir(drop())).toEqual([])
    const polled = await checkDropFolder(configOf({ MUSETTE_WATCH_POLLING: 'true' }), deaf)
    expect(polled).toMatchObject([{ state: 'ok' }])
  })

  it.for([
    ['exfat-fuse, which has no links', 'has no dependable hard links and ignores case'],
    ['sshfs, whose links have inodes of their own', 'has no dependable hard links'],
  ] as const)('on %s is reported without dependable links', async ([kind, lacks], { skip }) => {
    const why = whyNoDisk(kind)
    skip(why !== undefined, why)
    const disk = await openForTest(openDisk(kind))
    const findings = await checkDropFolder(
      configOf({ MUSETTE_DROP_DIR: disk.path }),
      probed({ noticed: true }),
    )
    const found = `the file system of ${disk.path} ${lacks}, so files are renamed into place`
    expect(findings).toMatchObject([{ state: 'ok', found }, { state: 'ok' }])
  })

  it('whose done folder is on another disk cannot move files there', async () => {
    await mkdir(drop())
    await symlink('/proc', join(drop(), 'done'))
    expect(await checkDropFolder(configOf(), probed({ noticed: true }))).toMatchObject([
      { state: 'problem', run: 'export MUSETTE_AFTER_UPLOAD=keep' },
      { state: 'ok' },
    ])
  })
})
