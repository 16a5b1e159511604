import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { readSettings } from '../../src/config/config.ts'
import { CHECKS, runCheck } from '../../src/doctor/doctor.ts'
import { openDoctorContext } from '../../src/doctor/doctor-context.ts'
import type { Finding } from '../../src/doctor/finding.ts'
import { type CliRig, openCliRig } from '../cli/rig.ts'
import { makeSilentLog } from '../kit/log.ts'
import { distPath } from '../kit/processes.ts'

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
  const rig = await openCliRig({ activities: 2 })
  await rig.signIn()
  await rig.musette(['sync'])
  return rig
}

/** Runs one check of the doctor with these settings, and returns what is not fine. */
export async function look(check: string, env: Record<string, string>): Promise<readonly Finding[]> {
  const { context, close } = openDoctorContext({ log: makeSilentLog() }, readSettings(env))
  try {
    const found = CHECKS.find(({ name }) => name === check)
    if (!found) throw new Error(`there is no check "${check}"`)
    return (await runCheck(found, context)).filter(({ state }) => state !== 'ok')
  } finally {
    await close()
  }
}

/** Types a command in a shell, which has `musette`, and returns the variables that it has afterwards. `prefix` stands before the shell. */
export async function type(
  command: string | undefined,
  { env = {}, prefix = [] }: { env?: Record<string, string>; prefix?: readonly string[] } = {},
): Promise<Record<string, string>> {
  const words = `musette() { "${process.execPath}" "${distPath('main.js')}" "$@"; }; sudo() { "$@"; }`
  const [program = '', ...rest] = [...prefix, 'sh', '-c', `${words}; set -e; ${command ?? 'false'}\nenv -0`]
  const path = { PATH: process.env.PATH ?? '', HOME: '/' }
  const { stdout } = await promisify(execFile)(program, rest, { env: { ...path, ...env }, cwd: '/' })
  const after = stdout
    .slice(stdout.lastIndexOf('\n') + 1)
    .split('\0')
    .map((line) => line.split('='))
  return Object.fromEntries(
    after.flatMap(([name = '', ...value]) =>
      name in env || /^(MUSETTE|[A-Z]+_URL)/.test(name) ? [[name, value.join('=')]] : [],
    ),
  )
}
