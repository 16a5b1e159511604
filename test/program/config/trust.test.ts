import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { errorCode } from '../../../src/kit/errors.ts'
import { findBinary } from '../../kit/binaries.ts'
import { readSettings } from '../../kit/config.ts'
import { makePath } from '../../kit/sudo.ts'

/** A user of every Linux, whose group has the same name, and two other users. */
const [DAEMON, SYNC, OTHER] = [1, 4, 54_321]
/** A group of another name, and one that the system does not know. */
const [NOGROUP, UNKNOWN] = [65_534, 54_322]

type Entry = { uid?: number; gid?: number; mode?: number; text?: string; linkTo?: string }
type Row = [
  what: string,
  self: number,
  /** the folder `data`, its file `musette.env`, the folder above, or another file, with owner and mode */
  places: Record<string, Entry>,
  refused?: [code: string, command: string],
]

const data = (uid: number, mode: number, gid = uid) => ({ data: { uid, mode, gid } })
const file = (uid: number, mode: number, gid = uid) => ({
  ...data(DAEMON, 0o700),
  'data/musette.env': { uid, mode, gid, text: 'MUSETTE_LAG=2h\n' },
})
const named = (uid: number, mode: number) => ({
  ...data(DAEMON, 0o700),
  'named.env': { uid, mode, text: 'MUSETTE_LAG=2h\n' },
})
const DIR = 'untrusted_data_dir'
const FILE = 'untrusted_settings'

const ROWS: readonly Row[] = [
  ['its own folder', DAEMON, data(DAEMON, 0o755)],
  ['no folder', DAEMON, {}],
  ['a folder of root', DAEMON, data(0, 0o755)],
  ['its own folder, that its own group may change', DAEMON, data(DAEMON, 0o775)],
  ['its own folder, that an unknown group may change', DAEMON, data(DAEMON, 0o2775, UNKNOWN)],
  ['a folder of root, that the group of root may change', DAEMON, data(0, 0o775)],
  ['a folder of root, that an unknown group may change', DAEMON, data(0, 0o2775, UNKNOWN)],
  [
    'its own folder, that another group may change',
    DAEMON,
    data(DAEMON, 0o775, NOGROUP),
    [DIR, 'chmod go-w DATA'],
  ],
  ['its own folder, that everybody may change', DAEMON, data(DAEMON, 0o777), [DIR, 'chmod go-w DATA']],
  [
    'a folder of root, that everybody may change',
    DAEMON,
    data(0, 0o777),
    [DIR, 'sudo chown 1 DATA && sudo chmod go-w DATA'],
  ],
  ['a folder for everybody', DAEMON, data(0, 0o1777), [DIR, 'export MUSETTE_DATA_DIR=DATA/musette']],
  ['a folder of another user', DAEMON, data(SYNC, 0o755), [DIR, 'export MUSETTE_DATA_DIR="$HOME/.musette"']],
  [
    'a folder of a user that the system does not know',
    DAEMON,
    data(OTHER, 0o700),
    [DIR, 'sudo chown -hR 1 DATA'],
  ],
  ['a link of root', DAEMON, { own: { uid: DAEMON }, data: { uid: 0, linkTo: 'own' } }],
  [
    'a link of another user',
    DAEMON,
    { own: { uid: DAEMON }, data: { uid: OTHER, linkTo: 'own' } },
    [DIR, 'export MUSETTE_DATA_DIR=FOLDER/own'],
  ],
  ['its own settings', DAEMON, file(DAEMON, 0o644)],
  ['its own settings, that its own group may change', DAEMON, file(DAEMON, 0o664)],
  ['settings of root', DAEMON, file(0, 0o644)],
  ['settings of another user', DAEMON, file(OTHER, 0o644), [FILE, 'sudo chown -hR 1 DATA/musette.env']],
  [
    'its own settings, that everybody may change',
    DAEMON,
    file(DAEMON, 0o666),
    [FILE, 'chmod go-w DATA/musette.env'],
  ],
  [
    'settings of root, that everybody may change',
    DAEMON,
    file(0, 0o666),
    [FILE, 'sudo chmod go-w DATA/musette.env'],
  ],
  ['a named file of root, such as a secret', DAEMON, named(0, 0o444)],
  ['a named file of another user', DAEMON, named(OTHER, 0o644), [FILE, 'sudo chown -hR 1 FOLDER/named.env']],
  [
    'a named file that everybody may change',
    DAEMON,
    named(DAEMON, 0o622),
    [FILE, 'chmod go-w FOLDER/named.env'],
  ],
  ['its own folder', 0, data(0, 0o755)],
  ['its own folder, that everybody may change', 0, data(0, 0o777), [DIR, 'chmod go-w DATA']],
  ['its own folder, in one for everybody', 0, { '.': { mode: 0o1777 }, ...data(0, 0o755) }],
  [
    'its own folder, which everybody may replace',
    0,
    { '.': { mode: 0o777 }, ...data(0, 0o755) },
    [DIR, 'chmod go-w FOLDER'],
  ],
  ['no folder, where everybody may make it', 0, { '.': { mode: 0o777 } }, [DIR, 'chmod go-w FOLDER']],
  [
    'its own folder, in one of another user',
    0,
    { '.': { uid: OTHER }, ...data(0, 0o755) },
    [DIR, 'chown -hR 54321:54321 DATA'],
  ],
  [
    'a link of another user to its own folder',
    0,
    { own: {}, data: { uid: OTHER, linkTo: 'own' } },
    [DIR, 'export MUSETTE_DATA_DIR=FOLDER/own'],
  ],
]

// The commands for a root whose shell is its own.
delete process.env.SUDO_UID

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

/** Runs `work` with the rights of another user, which this process of root gets back. */
function as<T>(uid: number, work: () => T): T {
  try {
    process.seteuid?.(uid)
    return work()
  } finally {
    process.seteuid?.(0)
  }
}

/** Makes the places of a row in a new folder. */
function makePlaces(self: number, places: Row[2]) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'musette-trust-')))
  folders.push(folder)
  chmodSync(folder, 0o755)
  for (const [name, { uid = 0, gid = uid, mode, text, linkTo }] of Object.entries(places)) {
    const path = join(folder, name)
    if (text) writeFileSync(path, text)
    else if (linkTo) symlinkSync(linkTo, path)
    else mkdirSync(path, { recursive: true })
    if (linkTo) lchownSync(path, uid, gid)
    else chownSync(path, uid, gid)
    if (mode !== undefined) chmodSync(path, mode)
  }
  const named = 'named.env' in places ? join(folder, 'named.env') : undefined
  /** Reads the settings as that user; returns the error when they are refused. */
  const read = (dataDir: string) => {
    try {
      as(self, () => readSettings({ MUSETTE_DATA_DIR: dataDir }, named))
      return 'trusted'
    } catch (error) {
      return error
    }
  }
  return { folder, dataDir: join(folder, 'data'), read }
}

const hasUsers = process.getuid?.() === 0 && findBinary(['setpriv']) && findBinary(['getent'])

describe.skipIf(!hasUsers)('the settings of a user', () => {
  const trusted = ROWS.filter(([, , , refused]) => !refused)
  it.each(trusted)('are read from %s (user %i)', (_what, self, places) => {
    const { dataDir, read } = makePlaces(self, places)
    expect(read(dataDir)).toBe('trusted')
  })

  const refusals = ROWS.flatMap(([what, self, places, refused]) =>
    refused ? [[what, self, places, ...refused] as const] : [],
  )
  it.each(refusals)('are refused from %s (user %i), with the command that mends it', async (...row) => {
    const [, self, places, code, command] = row
    const { folder, dataDir, read } = makePlaces(self, places)
    const refusal = read(dataDir)
    const line = command.replaceAll(/\bDATA\b/g, dataDir).replaceAll('FOLDER', folder)
    expect(errorCode(refusal)).toBe(code)
    expect(String(refusal)).toContain(`: ${line}`)
    const home = join(folder, 'home of the user')
    mkdirSync(home)
    chownSync(home, self, self)
    const typist = line.includes('sudo ') ? 0 : self
    const user = [`--reuid=${typist}`, `--regid=${typist}`, '--clear-groups', 'sh', '-c']
    const env = { PATH: makePath(folder), HOME: home, MUSETTE_DATA_DIR: dataDir }
    const script = `${line} && printf %s "$MUSETTE_DATA_DIR"`
    const { stdout } = await promisify(execFile)('setpriv', [...user, script], { env })
    // What root has given to another user is for a process of that user.
    if (line.startsWith('chown')) expect(lstatSync(dataDir)).toMatchObject({ uid: OTHER })
    else expect(read(stdout)).toBe('trusted')
  })
})
