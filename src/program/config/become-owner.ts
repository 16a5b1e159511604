import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { ConfigError, errorCode, errorLine } from '../../kit/errors.ts'
import { PROGRAM_FOLDER } from '../../kit/program-folder.ts'
import { quoteShell } from '../../kit/text.ts'
import { readNearest, readPasswd } from './trust.ts'

type User = { uid: number; gid: number; name?: string }

/**
 * Makes a root process run permanently as the owner of the data directory or, if the data directory does not exist, as the owner of the
 * nearest folder above. Does nothing for other users and in folders of root. `argv` is the command line, for the message. Throws
 * ConfigError `not_the_owner`.
 */
export function becomeOwner(dataDir: string, argv: readonly string[]): void {
  if (process.geteuid?.() !== 0) return
  const folder = statSync(readNearest(dataDir))
  if (folder.uid === 0) return
  const owner = readUser(folder)
  const whose = `the data directory ${dataDir} belongs to ${owner.name ?? `user ${owner.uid}`}`
  const command = `run: ${commandAs(owner, dataDir, argv)}`
  const refuse = (why: string, cause: unknown) =>
    new ConfigError('not_the_owner', `${whose}, ${why} ${command}`, { cause })
  try {
    switchTo(owner)
  } catch (cause) {
    throw refuse(`and root may not become that user here (${errorCode(cause)});`, cause)
  }
  try {
    assertReadable()
  } catch (cause) {
    const mend = 'install musette where every user can read it, then'
    throw refuse(`who cannot read the program (${errorLine(cause)}); ${mend}`, cause)
  }
}

/** Reads the name and group of a user; a user that the system does not know gets the group of the folder. */
function readUser({ uid, gid }: User): User {
  try {
    process.seteuid?.(uid)
    const { username: name, gid } = userInfo()
    return { uid, gid, name }
  } catch {
    // The lookup may fail as that user, so read the file. Never use the group of root, because it has its own rights.
    return { uid, gid: gid === 0 ? uid : gid, ...readPasswd(uid) }
  } finally {
    process.seteuid?.(0)
  }
}

/** Node's types lack initgroups. */
const system: { initgroups?(user: string, group: number): void } & NodeJS.Process = process

/** Gives up the rights of root. Throws if any of them is left. */
function switchTo({ uid, gid, name }: User): void {
  if (name === undefined) process.setgroups?.([gid])
  else system.initgroups?.(name, gid)
  process.setgid?.(gid)
  process.setuid?.(uid)
  const ids = [process.getuid?.(), process.geteuid?.(), process.getgid?.(), process.getegid?.()]
  if (ids.join() === [uid, uid, gid, gid].join())
    try {
      process.setuid?.(0)
    } catch {
      return
    }
  throw Object.assign(new Error('the rights of root are not gone'), { code: 'EPERM' })
}

/** Throws Node's error for a program file that this user cannot read, because most files are read only later. */
function assertReadable(): void {
  const built = join(PROGRAM_FOLDER, 'dist')
  const files = readdirSync(built, { recursive: true, encoding: 'utf8' })
  for (const name of ['../drizzle', ...files]) accessSync(join(built, name), constants.R_OK)
  accessSync(process.execPath, constants.X_OK)
}

/** Returns the command line for the owner, without a secret. sudo needs a user name, and keeps no variables. */
function commandAs({ uid, gid, name }: User, dataDir: string, argv: readonly string[]): string {
  const isSecret = (word: string, at: number) =>
    word.startsWith('--client-secret') || argv[at - 1] === '--client-secret'
  const as =
    name === undefined
      ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
      : ['sudo', '-u', name, `MUSETTE_DATA_DIR=${dataDir}`]
  const words = argv.filter((word, at) => !isSecret(word, at))
  return [...as, 'musette', ...words].map(quoteShell).join(' ')
}
