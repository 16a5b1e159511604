import { mkdir, readdir, type statfs, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { openWatch } from '../../../src/core/dropfolder/watch.ts'
import { serverFindings } from '../../../src/program/doctor/check-database.ts'
import { checkDropFolder, probeFolder } from '../../../src/program/doctor/check-folders.ts'
import { checkDiskSpace, checkNode, checkOtherUsers } from '../../../src/program/doctor/check-machine.ts'
import { readSettings } from '../../kit/config.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'

let folder: TempDir
beforeEach(async () => {
  folder = await openTempDir('checks')
})
afterEach(() => folder.close())

const configOf = (env: Record<string, string> = {}) =>
  readSettings({ MUSETTE_DATA_DIR: folder.path, MUSETTE_DROP_DIR: join(folder.path, 'drop'), ...env })

describe('the version of Node', () => {
  it.each([
    ['20.18.3', 'problem'],
    ['18.20.0', 'problem'],
    ['20.19.0', 'ok'],
    ['24.1.0', 'ok'],
  ])('%s is a finding of kind %s', async (version, state) => {
    expect(await checkNode(undefined, version)).toMatchObject([{ state }])
  })
})

describe('other users of the machine', () => {
  const PASSWD = `root:x:0:0:root:/root:/bin/bash
nobody:x:65534:65534:nobody:/nonexistent:/bin/sh
daemon:x:1500:1500:a service:/:/usr/sbin/nologin
me:x:${process.getuid?.()}:1000::/home/me:/bin/bash
ann:x:4242:4242:Ann,,,:/home/ann:/bin/zsh\n`

  it.each([
    ['are named while the page asks for no token, with what ends it', {}, PASSWD, 'ann may read the page'],
    [
      'cannot use it with a token',
      { MUSETTE_HTTP_TOKEN: 'a-token-of-16-and-more' },
      PASSWD,
      'cannot use the page',
    ],
    ['cannot use a page that is off', { MUSETTE_HTTP: 'off' }, PASSWD, 'cannot use the page'],
    ['are none', {}, PASSWD.replace(/^ann.*/m, ''), 'found no other people who may sign in'],
  ])('%s', async (_what, env, text, found) => {
    const path = join(folder.path, 'passwd')
    await writeFile(path, text)
    const [finding] = await checkOtherUsers(configOf(env), path)
    expect(finding).toMatchObject({ state: 'ok', found: expect.stringContaining(found) })
    expect(finding?.run).toBe(
      found.startsWith('ann') ? 'export MUSETTE_HTTP_TOKEN="$(openssl rand -hex 24)"' : undefined,
    )
  })
})

describe('a disk', () => {
  const spaceOf = (free: number, files = { files: 1_000, ffree: 500 }) =>
    (async () => ({ blocks: 1e9, bsize: 1, bavail: free, ...files })) as unknown as typeof statfs

  it.each([
    [100e6, 'problem'],
    [1e9, 'warning'],
    [50e9, 'ok'],
  ])('with %d bytes left is a finding of kind %s', async (free, state) => {
    const findings = await checkDiskSpace(configOf(), spaceOf(free))
    expect(findings).toMatchObject([{ state }])
  })

  it('without free inodes is a problem, and one that counts none is not', async () => {
    const full = await checkDiskSpace(configOf(), spaceOf(50e9, { files: 1_000, ffree: 0 }))
    expect(full).toMatchObject([{ state: 'problem', run: `df -h ${folder.path}` }])
    const uncounted = await checkDiskSpace(configOf(), spaceOf(50e9, { files: 0, ffree: 0 }))
    expect(uncounted).toMatchObject([{ state: 'ok' }])
  })
})

describe('a Postgres server', () => {
  const facts = {
    version: '15.4',
    version_number: 150_004,
    connections: 97,
    connections_of_others: 10,
    size_bytes: 1e9,
    autovacuum: true,
    is_superuser: true,
    limits: [],
    read_only_by: null,
    creators_in_public: [],
    checksum_failures: 0,
    checksum_last_failure: null,
  }

  const run = (statement: string) => `musette sql --write "${statement}"`
  it.each([
    ['with room for everything is fine', {}, []],
    [
      'that is too old is a problem',
      { version: '13.12', version_number: 130_012 },
      [{ state: 'problem', kind: 'configuration' }],
    ],
    [
      'with too few free connections gets the needed number',
      { connections_of_others: 80 },
      [{ state: 'warning', run: run('alter system set max_connections = 118') }],
    ],
    [
      'on which other roles may create functions in schema public names each of them, and puts only plain names into the command',
      { creators_in_public: ['bob', '$(reboot)'] },
      [
        {
          state: 'warning',
          found: expect.stringContaining(': bob, $(reboot)'),
          run: run('revoke create on schema public from public, bob'),
        },
      ],
    ],
    [
      'that does not vacuum is reported',
      { autovacuum: false },
      [{ state: 'warning', run: expect.stringContaining('set autovacuum = on') }],
    ],
  ])('%s', (_what, other, findings) => {
    expect(serverFindings({ ...facts, ...other }, 28)).toMatchObject(findings)
  })
})

describe('the drop folder', () => {
  const probed = (answer: { noticed: boolean; refused?: unknown }) => async () => answer

  it('is tested with a file that is noticed and removed', async () => {
    const dir = join(folder.path, 'drop')
    await mkdir(join(dir, 'other account'), { recursive: true })
    expect(await probeFolder(dir)).toEqual({ noticed: true })
    expect(await checkDropFolder(configOf())).toMatchObject([{ state: 'ok' }])
    expect(await readdir(dir)).toEqual(['other account'])
  })

  it('without events should be polled', async () => {
    const dir = join(folder.path, 'drop')
    await mkdir(dir)
    // A share: the watch stands, and then nothing comes.
    const watchFolder: typeof openWatch = ({ onHint }) => {
      onHint()
      return { close: async () => undefined }
    }
    const deaf = (path: string) => probeFolder(path, { watchFolder, withinMs: 100 })
    const findings = await checkDropFolder(configOf(), deaf)
    expect(findings).toMatchObject([{ state: 'warning', run: 'export MUSETTE_WATCH_POLLING=true' }])
    expect(await readdir(dir)).toEqual([])
    const polled = await checkDropFolder(configOf({ MUSETTE_WATCH_POLLING: 'true' }), deaf)
    expect(polled).toMatchObject([{ state: 'ok' }])
  })

  it('that cannot be watched is reported with the setting', async () => {
    await mkdir(join(folder.path, 'drop'))
    const refused = Object.assign(new Error('no space left'), { code: 'ENOSPC' })
    expect(await checkDropFolder(configOf(), probed({ noticed: false, refused }))).toMatchObject([
      { state: 'warning', run: 'sudo sysctl fs.inotify.max_user_watches=1048576' },
    ])
  })

  it('that is missing is created at the start, or may not be mounted', async () => {
    expect(await checkDropFolder(configOf())).toMatchObject([{ state: 'ok' }])
    const elsewhere = configOf({ MUSETTE_DROP_DIR: `${folder.path}-share/it's` })
    expect(await checkDropFolder(elsewhere)).toMatchObject([
      { state: 'warning', run: `df ${dirname(folder.path)}` },
    ])
  })

  it('whose done folder is on another disk cannot move files there', async () => {
    await mkdir(join(folder.path, 'drop'))
    await symlink('/proc', join(folder.path, 'drop', 'done'))
    const findings = await checkDropFolder(configOf(), probed({ noticed: true }))
    expect(findings).toMatchObject([
      { state: 'problem', run: 'export MUSETTE_AFTER_UPLOAD=keep' },
      { state: 'ok' },
    ])
  })
})
