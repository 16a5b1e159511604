import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, onTestFinished } from 'vitest'
import type { LocalApp } from '../../../src/program/app/local-app.ts'
import { type Check, listChecks, runCheck } from '../../../src/program/doctor/doctor.ts'
import { openDoctorContext } from '../../../src/program/doctor/doctor-context.ts'
import type { Finding } from '../../../src/program/frame/findings/finding.ts'
import { readSettings } from '../../kit/config.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTestDatabase, queryOnce } from '../../kit/postgres.ts'
import { distPath, type Finished } from '../../kit/processes.ts'
import { runVerb } from '../../kit/verbs.ts'
import { type CliRig, openCliRig } from '../cli/rig.ts'

export type Found = { check: string; state: string; found: string; run?: string }

/** What stands in every output that is looked at must never hold this. */
export const SECRET = 'hunter2'

/** Runs the doctor as a person would, and reads what it found; no secret may be in it. */
export async function doctor(
  rig: Pick<CliRig, 'musette'>,
  env: Record<string, string> = {},
): Promise<{ code: number | null; findings: Found[]; of(check: string): Found[] }> {
  const { code, stdout, stderr } = await rig.musette(['doctor', '--json'], { env })
  expect(stdout + stderr).not.toContain(SECRET)
  const told: { exit_code: number; findings: Found[] } = JSON.parse(stdout)
  expect(told.exit_code).toBe(code)
  const { findings } = told
  return { code, findings, of: (check) => findings.filter((finding) => finding.check === check) }
}

/** Opens a mirror in order: signed in, and mirrored. */
export async function openSignedIn(): Promise<CliRig> {
  const rig = await openCliRig({ activities: 2, isSignedIn: true })
  await rig.musette(['sync'])
  return rig
}

/** Runs one check of the doctor with these settings, and returns what is not fine. */
export async function look(check: string, env: Record<string, string>): Promise<readonly Finding[]> {
  const { context, close } = openDoctorContext({ log: makeSilentLog() }, readSettings(env))
  try {
    return (await runCheck(await findCheck(check), context)).filter(({ state }) => state !== 'ok')
  } finally {
    await close()
  }
}

async function findCheck(name: string): Promise<Check> {
  const found = (await listChecks()).find((check) => check.name === name)
  if (!found) throw new Error(`there is no check "${name}"`)
  return found
}

/** Runs one check of the doctor on an open database, and returns its findings as the check makes them. */
export async function diagnose(
  check: string,
  { config, store, databaseUrl }: Pick<LocalApp, 'config' | 'store' | 'databaseUrl'>,
): Promise<readonly Finding[]> {
  const mirror = async () => ({ store, url: databaseUrl })
  const database = async () => ({ kind: 'none' }) as const
  const { run } = await findCheck(check)
  return run({ config, problems: [], warnings: [], log: makeSilentLog(), database, mirror })
}

/** Overwrites the first page of a table in a copy of the database, whose pages the server has not read yet. */
export async function openDamagedCopy(databaseUrl: string, table: string): Promise<string> {
  const url = new URL(databaseUrl)
  const name = url.pathname.slice(1)
  url.pathname = '/postgres'
  const run = (text: string) => queryOnce(url.href, text)
  await run(`CREATE DATABASE ${name}_copy TEMPLATE ${name} STRATEGY file_copy`)
  onTestFinished(async () => void (await run(`DROP DATABASE ${name}_copy WITH (FORCE)`)))
  const copy = new URL(databaseUrl)
  copy.pathname = `/${name}_copy`
  const [place] = await queryOnce(
    copy.href,
    `select current_setting('data_directory') as folder, pg_relation_filepath(coalesce(nullif(reltoastrelid, 0), oid)) as path
     from pg_class where oid = '${table}'::regclass`,
  )
  const file = await open(join(String(place?.folder), String(place?.path)), 'r+')
  await file.write(Buffer.alloc(1_000, 0xff), 0, 1_000, 4_000)
  await file.close()
  return copy.href
}

/** Makes a login that is no superuser and a database; `owned`: the database is its own. */
export async function openLogin(dataDir: string, owned: boolean) {
  const role = `plain_${randomBytes(4).toString('hex')}`
  const database = await openTestDatabase({ migrated: false })
  const url = new URL(database.url)
  const name = url.pathname.slice(1)
  await queryOnce(inject('postgresUrl'), `CREATE ROLE ${role} LOGIN PASSWORD 'plain'`)
  if (owned) await queryOnce(inject('postgresUrl'), `ALTER DATABASE ${name} OWNER TO ${role}`)
  onTestFinished(async () => {
    await database.close()
    await queryOnce(inject('postgresUrl'), `DROP ROLE ${role}`)
  })
  url.username = role
  url.password = 'plain'
  return { name, env: { DATABASE_URL: url.href, MUSETTE_DATA_DIR: dataDir } }
}

type Typing = {
  env?: Record<string, string>
  /** what a person puts in place of the words that stand for something, such as FILE */
  fill?: Record<string, string>
}

/**
 * Finds in what the program told the command of this kind, as test/program/doctor/commands.test.ts lists it: all of a finding's command, or the
 * part of a sentence up to its end. So no test has a copy of a command that it types.
 */
function commandIn(kind: string, told: string | undefined, fill: Record<string, string> = {}): string {
  const text = told ?? ''
  const begin = kind.replace('${', '')
  const isAll = text.startsWith(begin)
  const behind = text.indexOf(`run: ${begin}`)
  const at = isAll || behind < 0 ? text.indexOf(begin) : behind + 'run: '.length
  if (at < 0) throw new Error(`no command "${kind}" in: ${text}`)
  const [sentence = ''] = /^(?:\\.|'[^']*'|"[^"]*"|[^;,\n'"\\])*/.exec(text.slice(at)) ?? []
  const command = isAll ? text : sentence
  return Object.entries(fill).reduce((so, [word, value]) => so.replaceAll(word, value), command)
}

const inShell = async (script: string, env: Record<string, string> = {}, prefix: readonly string[] = []) => {
  const [program = '', ...rest] = [...prefix, 'sh', '-c', script]
  const path = { PATH: process.env.PATH ?? '', HOME: '/' }
  return await promisify(execFile)(program, rest, { env: { ...path, ...env }, cwd: '/' })
}

/**
 * Types a command that was told in a shell, which has `musette`, and returns what it prints and the variables that it leaves. `prefix`
 * stands before the shell, and makes it one of another user, whose `sudo` works here, as this process.
 */
export async function type(
  kind: string,
  told: string | undefined,
  { env = {}, fill = {}, prefix = [] }: Typing & { prefix?: readonly string[] } = {},
): Promise<{ printed: string; env: Record<string, string> }> {
  const musette = `musette() { "${process.execPath}" "${distPath('main.js')}" "$@"; }`
  const sudo = `sudo() { printf 'sudo'; printf '\\0%s' "$@"; echo; }`
  const script = `${musette}; ${sudo}; set -e; ${commandIn(kind, told, fill)}\nprintf '\\n'; env -0`
  const { stdout } = await inShell(script, env, prefix)
  const end = stdout.lastIndexOf('\n')
  for (const line of stdout.slice(0, end).split('\n')) {
    const [name, program = '', ...words] = line.split('\0')
    if (name === 'sudo') await promisify(execFile)(program, words)
  }
  const after = stdout
    .slice(end + 1)
    .split('\0')
    .map((line) => line.split('='))
  const left = after.flatMap(([name = '', ...value]) =>
    name in env || /^(MUSETTE|[A-Z]+_URL)/.test(name) ? [[name, value.join('=')]] : [],
  )
  return { printed: stdout.slice(0, end), env: Object.fromEntries(left) }
}

/** Returns the words after `musette` of a command that was told, as a shell passes them on. */
export async function wordsOf(
  kind: string,
  told: string | undefined,
  { env = {}, fill = {} }: Typing = {},
): Promise<string[]> {
  const { stdout } = await inShell(`musette() { printf '%s\\0' "$@"; }; ${commandIn(kind, told, fill)}`, env)
  return stdout.split('\0').slice(0, -1)
}

/** Types a `musette …` that was told, in a process that has run others: a start of Node takes ten times as long. */
export async function typeVerb(
  kind: string,
  told: string | undefined,
  typing: Typing & { cwd?: string; input?: string } = {},
): Promise<Finished> {
  return await runVerb(await wordsOf(kind, told, typing), typing)
}
