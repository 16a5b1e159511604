import { readFileSync, statSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { closest, distance } from 'fastest-levenshtein'
import { errorCode } from '../kit/errors.ts'
import { FROM_FILE, NAMES } from './variables.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** One place where variables are set: the environment, or a file. */
export type Source = Readonly<{ name: string; values: Environment }>

/** The file of settings in the data directory. */
export const IN_DATA_DIR = 'musette.env'

/** Two names that differ in more characters are no slip of the fingers. */
const NEAR = 4

/**
 * Reads a file of lines `NAME=value`, as Docker Compose knows them; undefined for a missing one that is `optional`. Throws the
 * errors of the file system.
 */
export function readEnvFile(path: string, { optional = false } = {}): Source | undefined {
  try {
    return { name: path, values: parseEnv(readFileSync(path, 'utf8')) }
  } catch (error) {
    if (optional && ['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return undefined
    throw error
  }
}

/** Takes out the variables from which the Postgres driver fills whatever a URL does not say: a shell has them for other programs. */
export function dropDriverVariables(env: NodeJS.ProcessEnv = process.env): void {
  for (const name of Object.keys(env)) if (/^(PG[A-Z]|NODE_PG_FORCE_NATIVE$)/.test(name)) delete env[name]
}

/** Returns a sentence for each variable that musette does not know, and for each file of secrets that others can read. */
export function warningsOf(sources: readonly Source[]): string[] {
  return sources.flatMap((source, index) => {
    const unknown = Object.keys(source.values).filter(
      (name) => name.startsWith('MUSETTE_') && !NAMES.includes(name) && source.values[name] !== '',
    )
    const sentences = unknown.map(
      (name) => `${name} (${source.name}) is no setting of musette${hintFor(name)}`,
    )
    // The first source is the environment, the others are files.
    if (index > 0 && holdsSecret(source) && isReadableByOthers(source.name))
      sentences.push(
        `${source.name} holds a secret and can be read by other users; run: chmod 600 ${source.name}`,
      )
    return sentences
  })
}

function hintFor(name: string): string {
  const nearest = closest(name, [...NAMES])
  return distance(name, nearest) <= NEAR
    ? `; did you mean ${nearest}?`
    : '; musette config lists those that there are'
}

function holdsSecret({ values }: Source): boolean {
  return FROM_FILE.some((name) => name !== 'MUSETTE_BASE_URL' && values[name])
}

function isReadableByOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0
}
