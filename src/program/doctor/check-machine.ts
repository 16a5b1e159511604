import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { FEATURES } from '../../features/index.ts'
import { readRoom } from '../../kit/files.ts'
import { formatBytes, quoteShell } from '../../kit/text.ts'
import { isReadableByOthers } from '../config/env-file.ts'
import { deniedFinding, isAllowed, readFolder, readNearestFolder } from '../frame/findings/check-folder.ts'
import { loadStates } from '../frame/findings/facts.ts'
import { type Finding, leftOut, ok, problem, warning } from '../frame/findings/finding.ts'
import type { DoctorContext } from './doctor-context.ts'

const LEAST = [20, 19] as const

/** Checks the version of Node; `version` is for tests. */
export async function checkNode(_context: unknown, version = process.versions.node): Promise<Finding[]> {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1])) {
    const found = `Node ${version} is too old; install Node 24 (${LEAST.join('.')} is the least)`
    return [problem('configuration', found, 'node --version')]
  }
  const note = major < 22 ? ', which works; it has had no security fixes since April 2026, Node 24 has' : ''
  return [ok(`Node ${version}${note}`)]
}

/** Makes a finding for every wrong variable, whose sentence says what to set instead, and for every likely mistake. */
export async function checkConfiguration(context: DoctorContext): Promise<Finding[]> {
  const { setIn } = context.config
  const warnings = context.warnings.map((sentence) => warning(sentence))
  if (context.problems.length === 0) return [ok('every variable can be understood'), ...warnings]
  const problems = context.problems.map(({ name, variable, sentence }) => {
    const found = `${name} ${sentence}; correct it${setIn[variable] ? ` (${setIn[variable]})` : ''}, and look again`
    return problem('configuration', found, 'musette config')
  })
  return [...problems, ...warnings]
}

/** Matches the files with a key, a password or sealed tokens, which only their owner may read. */
const SECRETS = /^(secret\.key(\.(new|old)-.*)?|postgres\.(json|pgpass)|tokens-.*\.spool.*)$/

/** Checks that this user can use the data directory and that nobody else can; its owner was checked when the settings were read. */
export async function checkDataDirectory({ config }: Pick<DoctorContext, 'config'>): Promise<Finding[]> {
  const { dataDir } = config
  const folder = await readFolder(dataDir, 'MUSETTE_DATA_DIR')
  if ('wrong' in folder) return [folder.wrong]
  const { stats } = folder
  if (!stats) return [await missingFolderFinding(dataDir)]
  if (!(await isAllowed(dataDir, 'write'))) return [await deniedFinding(dataDir, 'nothing can be kept')]
  const findings = [...(await secretFindings(dataDir)), ...modeFindings(dataDir, stats)]
  return findings.length > 0 ? findings : [ok(dataDir)]
}

async function missingFolderFinding(dataDir: string): Promise<Finding> {
  const parent = await readNearestFolder(dataDir)
  if (await isAllowed(parent, 'write')) return ok(`${dataDir} is not there yet; the first login makes it`)
  const found = `${dataDir} is not there and cannot be made in ${parent}; set MUSETTE_DATA_DIR to a folder of yours`
  return problem('configuration', found, 'export MUSETTE_DATA_DIR="$HOME/.musette"')
}

async function secretFindings(dataDir: string): Promise<Finding[]> {
  const names = (await readdir(dataDir)).filter((name) => SECRETS.test(name))
  const open = names.map((name) => join(dataDir, name)).filter(isReadableByOthers)
  return open.map((path) =>
    problem('configuration', `others may read ${path}`, `chmod 600 ${quoteShell(path)}`),
  )
}

function modeFindings(dataDir: string, { mode }: { mode: number }): Finding[] {
  // Root lets the user of the embedded Postgres enter the directory.
  if (process.platform === 'win32' || (mode & 0o006) === 0) return []
  return [warning(`everybody may look into ${dataDir}`, `chmod 700 ${quoteShell(dataDir)}`)]
}

/** A line of /etc/passwd about a person: an id of at least 1000, except `nobody`, and a shell. */
const PERSON = /^([^:]+):[^:]*:(\d{4,}):.*:(?!.*(?:nologin|false)$)[^:]+$/

/** Reports whether other people on this machine may use the page and `/mcp`, which need no token on loopback; `passwd` is for tests. */
export async function checkOtherUsers(
  { config: { http } }: Pick<DoctorContext, 'config'>,
  passwd = '/etc/passwd',
): Promise<Finding[]> {
  if (!http || http.token !== undefined) return [ok('cannot use the page and /mcp of musette')]
  const lines = (await readFile(passwd, 'utf8').catch(() => '')).split('\n')
  const others = lines.flatMap((line) => {
    const [, name = '', id] = PERSON.exec(line) ?? []
    return id === undefined || Number(id) === process.getuid?.() || Number(id) >= 65_534 ? [] : [name]
  })
  if (others.length === 0) return [ok('found no other people who may sign in to this machine')]
  const found = `${others.join(', ')} may read the page and /mcp and upload files, while MUSETTE_HTTP_TOKEN is not set`
  return [ok(found, 'export MUSETTE_HTTP_TOKEN="$(openssl rand -hex 24)"')]
}

const MEGABYTE = 1_000_000
/** The least free space before a problem, bytes: Postgres stops if its disk is full, and its WAL alone may grow to half a gigabyte. */
const PROBLEM_BELOW = 600 * MEGABYTE
/** The least free space before a warning, bytes: room for some thousand activities, so that a person sees the warning in time. */
const WARNING_BELOW = 3_000 * MEGABYTE

/** Checks how much space is left on each disk that musette writes to; `read` is for tests. */
export async function checkDiskSpace(
  { config }: Pick<DoctorContext, 'config'>,
  read = readRoom,
): Promise<Finding[]> {
  const ofFeatures = (await loadStates(FEATURES)).map(({ folder }) => folder?.dirOf(config))
  const folders = [config.dataDir, config.drop.dir, ...ofFeatures].filter((dir) => dir !== undefined)
  const disks = new Map<number, string>()
  for (const folder of folders) {
    const existing = await readNearestFolder(folder)
    const { dev } = await stat(existing)
    if (!disks.has(dev)) disks.set(dev, existing)
  }
  const note = config.databaseUrl === undefined ? '' : ', which need not be that of the database'
  return Promise.all([...disks.values()].map((folder) => diskFinding(folder, { read, note })))
}

async function diskFinding(
  folder: string,
  { read, note }: { read: typeof readRoom; note: string },
): Promise<Finding> {
  const room = await read(folder)
  if (!room) return leftOut(`the disk of ${folder} does not tell its size`)
  const found = `${formatBytes(room.bytes)} free on the disk of ${folder}${note}`
  const run = `df -h ${quoteShell(folder)}`
  if (room.files === 0) return problem('unexpected', `no file can be added on the disk of ${folder}`, run)
  if (room.bytes < PROBLEM_BELOW) return problem('unexpected', `only ${found}; make room`, run)
  return room.bytes < WARNING_BELOW ? warning(`${found}; make room`, run) : ok(found)
}
