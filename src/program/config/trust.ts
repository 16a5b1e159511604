import { lstatSync, readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { ConfigError } from '../../kit/errors.ts'
import { quoteShell } from '../../kit/text.ts'

/**
 * Throws ConfigError `untrusted_data_dir` unless the data directory belongs to this user or root, and nobody else may write in it. For
 * root, nobody else may be able to replace the directory either, so every folder above it is checked, too. If the directory does not exist,
 * this user will create it.
 */
export function assertTrustedFolder(dataDir: string): void {
  const self = process.geteuid?.()
  if (self === undefined) return
  const refuse = (message: string) => new ConfigError('untrusted_data_dir', message)
  const [folder, link] = [statIfThere(dataDir), statIfThere(dataDir, lstatSync)]
  const what = `the data directory ${dataDir}`
  const elsewhere = (path: string) => `run: export MUSETTE_DATA_DIR=${path}`
  const home = '"$HOME/.musette"'
  if (folder && !isHeldBy(self, folder)) {
    const mend = `${elsewhere(home)}, or make that one yours: ${chownCommand(self, dataDir)}`
    throw refuse(`${what} belongs to ${nameOf(folder.uid)}, who is not trusted; ${mend}`)
  }
  if (link && !isHeldBy(self, link)) {
    const mend = elsewhere(folder ? quoteShell(realpathSync(dataDir)) : home)
    throw refuse(`${what} is a link of ${nameOf(link.uid)}, who is not trusted; ${mend}`)
  }
  if (folder && isWritable(folder)) {
    const take = folder.uid === self ? '' : `sudo chown ${self} ${quoteShell(dataDir)} && `
    const mend = `run: ${take}${chmodCommand(self, folder, dataDir)}`
    // For a folder that is meant for everybody, such as /tmp, changing the owner would solve nothing.
    const inside = take !== '' && isSticky(folder) && elsewhere(quoteShell(join(dataDir, 'musette')))
    throw refuse(`others may write in ${what}; ${inside || mend}`)
  }
  if (self !== 0 || isOwnNamespace()) return
  const nearest = readNearest(dataDir)
  const first = nearest === dataDir ? dirname(realpathSync(dataDir)) : realpathSync(nearest)
  for (let at = first; ; at = dirname(at)) {
    const above = statSync(at)
    const owner = above.uid === 0 ? undefined : `${above.uid}:${above.gid}`
    const replaced = `others may replace ${what}, because`
    if (owner)
      throw refuse(
        `${replaced} ${at} belongs to ${nameOf(above.uid)}; run: ${chownCommand(0, nearest, owner)}`,
      )
    if (isWritable(above) && !isSticky(above))
      throw refuse(`${replaced} they may write in ${at}; run: ${chmodCommand(0, above, at)}`)
    if (at === dirname(at)) return
  }
}

/** Throws ConfigError `untrusted_settings` unless a settings file belongs to this user or root, and nobody else may write it. */
export function assertTrustedFile(path: string, file: Stats): void {
  const self = process.geteuid?.()
  if (self === undefined) return
  const refuse = (message: string) => new ConfigError('untrusted_settings', message)
  if (!isHeldBy(self, file)) {
    const mend = `if they are yours, run: ${chownCommand(self, path)}`
    throw refuse(`the settings in ${path} belong to ${nameOf(file.uid)}, who is not trusted; ${mend}`)
  }
  if (file.isFile() && isWritable(file))
    throw refuse(`others may write the settings in ${path}; run: ${chmodCommand(self, file, path)}`)
}

export function readNearest(path: string): string {
  return statIfThere(path) ? path : readNearest(dirname(path))
}

/** Finds the name and group of a user in /etc/passwd, or undefined if the file does not list the user. */
export function readPasswd(uid: number): { name: string; gid: number } | undefined {
  const [, name, gid] = new RegExp(`^([^:]+):[^:]*:${uid}:(\\d+):`, 'm').exec(readText('/etc/passwd')) ?? []
  return name === undefined ? undefined : { name, gid: Number(gid) }
}

function nameOf(uid: number): string {
  return readPasswd(uid)?.name ?? `user ${uid}`
}

/** Reads the status of a file that this user can find. */
function statIfThere(path: string, read: typeof statSync | typeof lstatSync = statSync): Stats | undefined {
  try {
    return read(path)
  } catch {
    return undefined
  }
}

function readText(path: string): string {
  return statIfThere(path) ? readFileSync(path, 'utf8') : ''
}

function isHeldBy(self: number, { uid }: Stats): boolean {
  return uid === self || uid === 0
}

function isSticky({ mode }: Stats): boolean {
  return (mode & 0o1000) !== 0
}

/** Reports whether users other than the owner may write: everybody, or a group with other members. */
function isWritable({ mode, gid }: Stats): boolean {
  return (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && !isPrivateGroup(gid))
}

/**
 * Reports whether a group has no other members: it is the group of root or is named after this user, as with a umask of 002, and lists no
 * other member; or the system does not know the group, such as the `fsGroup` of Kubernetes.
 */
function isPrivateGroup(gid: number): boolean {
  // Load the module only here, because it is rarely needed.
  const { spawnSync } = process.getBuiltinModule('node:child_process')
  const found = spawnSync('getent', ['group', String(gid)], { encoding: 'utf8' })
  if (found.status !== 0) return found.status === 2
  const [name = '', , , members = ''] = found.stdout.trim().split(':')
  const isOwn = gid === 0 || name === ownName()
  return isOwn && members.split(',').every((member) => ['', 'root', name].includes(member))
}

function ownName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}

/** Reports whether user ids here map to other ids outside, so that root here has no rights there. */
function isOwnNamespace(): boolean {
  return !/^(\s*0\s+0\s+4294967295\s*)?$/.test(readText('/proc/self/uid_map'))
}

/** Root needs no sudo, unless the shell belongs to another user. */
function sudo(self: number): string {
  return self === 0 && !process.env.SUDO_UID ? '' : 'sudo '
}

function chownCommand(self: number, path: string, owner = String(self)): string {
  return `${sudo(self)}chown -hR ${owner} ${quoteShell(path)}`
}

function chmodCommand(self: number, { uid }: Stats, path: string): string {
  return `${uid === self && self !== 0 ? '' : sudo(self)}chmod go-w ${quoteShell(path)}`
}
