import { expect } from 'vitest'
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
  const rig = await openCliRig({ activities: 2 })
  await rig.signIn()
  await rig.musette(['sync'])
  return rig
}
