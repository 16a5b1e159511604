import { closeSync, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs'
import { closest, distance } from 'fastest-levenshtein'
import { errorCode } from '../../kit/errors.ts'
import { quoteShell } from '../../kit/text.ts'
import type { KnownSettings } from './define-settings.ts'
import { ALSO_IN_SMALL_LETTERS } from './variables.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** A place where variables are set: the environment, or a file with its status. `faults`: sentences, without a value, about lines that set nothing. */
export type Source = Readonly<{ name: string; values: Environment; faults?: readonly string[]; file?: Stats }>

/** Every name that musette reads. */
type Names = KnownSettings['names']

/** The settings file in the data directory. */
export const IN_DATA_DIR = 'musette.env'

/** Maximum number of characters by which a misspelt name may differ from a setting. */
const NEAR = 4

/** NAME=value: the value is in quotes and may have several lines, or it ends at the end of the line, or at a # after a space. */
const LINE =
  /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(?:(?:"([^"]*)"|'([^']*)'|`([^`]*)`)[ \t]*(?:#.*)?|((?!["'`]).*?)[ \t]*(?:(?<=[ \t])#.*)?)$/my

/** Reads a file of `NAME=value` lines in the syntax of Docker Compose; returns undefined if the file is `optional` and missing. */
export function readEnvFile(
  { names }: Pick<KnownSettings, 'names'>,
  path: string,
  { optional = false } = {},
): Source | undefined {
  let handle: number | undefined
  try {
    handle = openSync(path, 'r')
    return { name: path, ...parseLines(names, readFileSync(handle)), file: fstatSync(handle) }
  } catch (error) {
    if (optional && ['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return undefined
    throw error
  } finally {
    if (handle !== undefined) closeSync(handle)
  }
}

/** Parses the lines here, because Node's parseEnv joins a line without = to the next line, and ends a value at any #. */
function parseLines(names: Names, file: Buffer): { values: Environment; faults: string[] } {
  // A Windows editor may begin a file with a byte order mark, or write UTF-16.
  const characters = file.toString(file[0] === 0xff ? 'utf16le' : 'utf8')
  const text = characters.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')
  const values: Record<string, string> = {}
  const faults: string[] = []
  for (let at = 0, end = 0; at < text.length; at = end + 1) {
    LINE.lastIndex = at
    const match = LINE.exec(text)
    end = match ? LINE.lastIndex : `${text}\n`.indexOf('\n', at)
    const [line = text.slice(at, end), name, double, single, back, bare] = match ?? []
    const value = double?.replaceAll('\\n', '\n') ?? single ?? back ?? bare ?? ''
    const fault = faultOf(names, line, name, bare) ?? (value && name && values[name] && `sets ${name} again`)
    if (fault) faults.push(`line ${text.slice(0, at).split('\n').length} ${fault}`)
    else if (name) values[name] = value
  }
  return { values, faults }
}

function faultOf(
  names: Names,
  line: string,
  name: string | undefined,
  bare: string | undefined,
): string | undefined {
  if (/^\s*(?:#|$)/.test(line)) return undefined
  if (!name) {
    const [, word = ''] = /^\s*(?:export\s+)?(\w+)/.exec(line) ?? []
    return `sets nothing; write ${nearestTo(names, word) ?? 'NAME'}=VALUE, with quotes around the whole value or none`
  }
  if (!isKnown(names, name)) return `sets ${name}, which is not a setting of musette${hintFor(names, name)}`
  if (bare?.includes('#')) return `has a # inside the value of ${name}; put the value in quotes`
  return names.some((other) => line.includes(`\n${other}=`))
    ? `begins a value of ${name} in quotes that end below another setting; end them on this line`
    : undefined
}

/** With `0`, Node sends passwords and tokens to any server, whatever certificate it shows. */
const ANY_CERTIFICATE = 'NODE_TLS_REJECT_UNAUTHORIZED'

/**
 * Removes variables that shells set for other programs: variables that the Postgres driver would use for missing parts of a URL, and the
 * variable that makes Node accept any certificate, which it reads at each connection.
 */
export function dropVariablesOfOthers(env: NodeJS.ProcessEnv = process.env): void {
  for (const name of Object.keys(env))
    if (name === ANY_CERTIFICATE || /^(PG[A-Z]|NODE_PG_FORCE_NATIVE$)/.test(name)) delete env[name]
}

/** Returns a sentence for each variable of the environment that is probably misspelt or has no effect, and for each file of secrets that others can read. */
export function warningsOf(
  { names, fromFile }: Pick<KnownSettings, 'names' | 'fromFile'>,
  [environment, ...files]: readonly Source[],
): string[] {
  const secrets = fromFile.filter((name) => name !== 'MUSETTE_BASE_URL')
  const slips = Object.entries(environment?.values ?? {}).filter(
    ([name, value]) =>
      value !== '' &&
      !isKnown(names, name) &&
      (/^MUSETTE_/i.test(name) || nearestTo(names, name, 1) !== undefined),
  )
  const ignored = `${ANY_CERTIFICATE}=0 (environment) has no effect: musette sends no password to a server that does not prove its name; name the file of its authority in NODE_EXTRA_CA_CERTS, and unset ${ANY_CERTIFICATE}`
  return [
    ...(environment?.values[ANY_CERTIFICATE] === '0' ? [ignored] : []),
    ...slips.map(([name]) => `${name} (environment) is not a setting of musette${hintFor(names, name)}`),
    ...files
      .filter(({ name, values }) => secrets.some((secret) => values[secret]) && isReadableByOthers(name))
      .map(({ name }) => `others may read ${name}, which holds a secret; run: chmod 600 ${quoteShell(name)}`),
  ]
}

function isKnown(names: Names, name: string): boolean {
  const large = name.toUpperCase()
  return names.includes(name) || (name === large.toLowerCase() && ALSO_IN_SMALL_LETTERS.includes(large))
}

function hintFor(names: Names, name: string): string {
  const nearest = nearestTo(names, name)
  return nearest ? `; did you mean ${nearest}?` : '; musette config lists all settings'
}

/** Returns the setting whose name differs in at most `near` characters, ignoring case. */
function nearestTo(names: Names, name: string, near = NEAR): string | undefined {
  const nearest = closest(name.toUpperCase(), [...names])
  return distance(name.toUpperCase(), nearest) <= near ? nearest : undefined
}

/** Reports whether other users of this machine may read a file; false if the file does not exist. */
export function isReadableByOthers(path: string): boolean {
  return (
    process.platform !== 'win32' && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0
  )
}
