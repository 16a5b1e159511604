import { lstatSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { ConfigError } from '../../kit/errors.ts'
import { quoteShell } from '../../kit/text.ts'

/** Who may change a file or folder: its owner's number, and whether others than the owner may write. */
type Holder = Pick<Stats, 'uid' | 'gid' | 'mode'>

/**
 * Throws ConfigError `untrusted_data_dir` unless the data directory belongs to this user or root, and nobody else may write in it. For
 * root nobody else may replace it either: every folder above it is looked at, too. One that does not exist is made by this user.
 */
export function assertTrustedFolder(dataDir: string): void {
  const self = process.geteuid?.()
  if (self === undefined) return
  const refuse = (message: string) => new ConfigError('untrusted_data_dir', message)
  const [folder, link] = [statIfThere(dataDir), statIfThere(dataDir, lstatSync)]
  const trusted = folder ? quoteShell(realpathSync(dataDir)) : '"$HOME/.musette"'
  if (folder && !isHeldBy(self, folder)) {
    const mend = `run: export MUSETTE_DATA_DIR="$HOME/.musette", or make that one yours: ${give(self, dataDir)}`
    throw refuse(
      `the data directory ${dataDir} belongs to ${nameOf(folder.uid)}, who is not trusted; ${mend}`,
    )
  }
  if (link && !isHeldBy(self, link)) {
    const run = `run: export MUSETTE_DATA_DIR=${trusted}`
    throw refuse(`the data directory ${dataDir} is a link of ${nameOf(link.uid)}, who is not trusted; ${run}`)
  }
  if (folder && isWritable(folder)) {
    const own = `export MUSETTE_DATA_DIR=${quoteShell(join(dataDir, 'musette'))}`
    const yours = folder.uid === self ? '' : `sudo chown ${self} ${quoteShell(dataDir)} && `
    const run = folder.uid !== self && isSticky(folder) ? own : `${yours}${close(self, folder, dataDir)}`
    throw refuse(`others may write in the data directory ${dataDir}; run: ${run}`)
  }
  if (self === 0 && !isOwnNamespace()) assertUnreplaceable(dataDir, refuse)
}

/** Throws unless root alone may replace the data directory, or make it. */
function assertUnreplaceable(dataDir: string, refuse: (message: string) => ConfigError): void {
  const nearest = readNearest(dataDir)
  const replaced = `others may replace the data directory ${dataDir}`
  const first = nearest === dataDir ? dirname(realpathSync(dataDir)) : realpathSync(nearest)
  for (let at = first; ; at = dirname(at)) {
    const above = statSync(at)
    const give = `${asRoot(0)}chown -hR ${above.uid}:${above.gid} ${quoteShell(nearest)}`
    if (above.uid !== 0)
      throw refuse(`${replaced}, because ${at} belongs to ${nameOf(above.uid)}; run: ${give}`)
    if (isWritable(above) && !isSticky(above))
      throw refuse(`${replaced}, because they may write in ${at}; run: ${close(0, above, at)}`)
    if (at === dirname(at)) return
  }
}

/** Reads the status of a file that this user can find. */
function statIfThere(path: string, read: typeof statSync | typeof lstatSync = statSync): Stats | undefined {
  try {
    return read(path)
  } catch {
    return undefined
  }
}

/** Finds the nearest folder at or above a path. */
export function readNearest(path: string): string {
  return statIfThere(path) ? path : readNearest(dirname(path))
}

/** Throws ConfigError `untrusted_settings` unless a file of settings belongs to this user or root, and nobody else may write it. */
export function assertTrustedFile(path: string, file: Stats): void {
  const self = process.geteuid?.()
  if (self === undefined) return
  const refuse = (message: string) => new ConfigError('untrusted_settings', message)
  if (!isHeldBy(self, file))
    throw refuse(
      `the settings in ${path} belong to ${nameOf(file.uid)}, who is not trusted; if they are yours, run: ${give(self, path)}`,
    )
  if (file.isFile() && isWritable(file))
    throw refuse(`others may write the settings in ${path}; run: ${close(self, file, path)}`)
}

function isHeldBy(self: number, { uid }: Holder): boolean {
  return uid === self || uid === 0
}

function isSticky({ mode }: Holder): boolean {
  return (mode & 0o1000) !== 0
}

/** Tells whether others than the owner may write: everybody, or a group that somebody else is in. */
function isWritable({ mode, gid }: Holder): boolean {
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !isPrivateGroup(gid))
}

/**
 * Tells whether nobody else is in a group: it is root's or named after this user, as with a umask of 002, and lists no other member, or
 * the system does not know it, such as the `fsGroup` of Kubernetes.
 */
function isPrivateGroup(gid: number): boolean {
  // Hardly anybody has such a folder, so the module is loaded here.
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const found = spawnSync('getent', ['group', String(gid)], { encoding: 'utf8' })
  if (found.status !== 0) return found.status === 2
  const [name, , , members = ''] = found.stdout.trim().split(':')
  const own = ownName()
  const isOwn = name === own || gid === 0
  return isOwn && members.split(',').every((member) => ['', 'root', own].includes(member))
}

function ownName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

/** Finds name and group of a user in /etc/passwd; undefined where that has none of the number. */
export function readPasswd(uid: number): { name: string; gid: number } | undefined {
  const [, name, gid] = new RegExp(`^([^:]+):[^:]*:${uid}:(\\d+):`, 'm').exec(readText('/etc/passwd')) ?? []
  return name === undefined ? undefined : { name, gid: Number(gid) }
}

function nameOf(uid: number): string {
  return readPasswd(uid)?.name ?? `user ${uid}`
}

/** Tells whether the numbers of users here are another's outside, so that root here has no rights there. */
function isOwnNamespace(): boolean {
  const map = readText('/proc/self/uid_map')
  return map !== '' && !/^\s*0\s+0\s+4294967295\s*$/.test(map)
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const give = (self: number, path: string) => `${asRoot(self)}chown -hR ${self} ${quoteShell(path)}`

function close(self: number, { uid }: Holder, path: string): string {
  return `${uid === self && self !== 0 ? '' : asRoot(self)}chmod go-w ${quoteShell(path)}`
}

/** Root itself needs no sudo, unless the shell is that of another user. */
function asRoot(self: number): string {
  return self === 0 && !process.env.SUDO_UID ? '' : 'sudo '
}
