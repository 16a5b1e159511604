import type { Diagnosis } from '../../doctor/doctor.ts'
import { EXIT } from '../../frame/context.ts'
import type { ProblemKind } from '../../frame/findings/finding.ts'
import { ASKS } from '../../frame/help-of-verbs.ts'
import { defineVerb, flag } from '../../frame/verb.ts'

/** The kinds of problem in the order of repair: without a configuration, no other check is possible. */
const GRAVEST_FIRST: ReadonlyArray<[kind: ProblemKind, code: number]> = [
  ['configuration', EXIT.usage],
  ['unreachable', EXIT.unreachable],
  ['credentials', EXIT.noLogin],
  ['unexpected', EXIT.unexpected],
]
/** How long unfinished requests of a check may keep the process alive after the last line, ms. */
const LINGER_MS = 2_000

/**
 * Exits 0 if there is no problem (warnings are allowed), otherwise with the code of the gravest problem: 2 for the configuration of musette,
 * its machine, key or database, 4 for an unreachable server, 3 for logins, 1 for anything else.
 */
export const doctorVerb = defineVerb({
  name: 'doctor',
  description: 'check everything that musette needs; print each problem and the command that fixes it',
  options: { json: flag('--json', 'as one JSON object') },
  help: { settings: [], exits: ['noLogin', ...ASKS], examples: ['musette doctor'] },
  needs: 'nothing',
  // A wrong variable becomes a finding, so it must not end the program.
  takesProblems: true,
  async run({ log, settings, signal, print, printJson }, { json }) {
    const { diagnose } = await import('../../doctor/doctor.ts')
    const findings: Diagnosis[] = []
    for await (const finding of diagnose({ log }, settings)) {
      findings.push(finding)
      if (!json) print(lineOf(finding))
      signal.throwIfAborted()
    }
    const code = codeOf(findings)
    if (json) printJson({ exit_code: code, findings })
    setTimeout(() => process.exit(code), LINGER_MS).unref()
    return code
  },
})

function lineOf({ check, state, found, run }: Diagnosis): string {
  return `${state.replace('_', ' ').padEnd(8)}  ${check}: ${found}${run === undefined ? '' : `; run: ${run}`}`
}

function codeOf(findings: readonly Diagnosis[]): number {
  const kinds = new Set(findings.flatMap((finding) => (finding.state === 'problem' ? [finding.kind] : [])))
  if (kinds.size === 0) return EXIT.done
  return GRAVEST_FIRST.find(([kind]) => kinds.has(kind))?.[1] ?? EXIT.unexpected
}
