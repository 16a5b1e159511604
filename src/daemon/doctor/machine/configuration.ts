import { type Finding, ok, problem } from '../finding.ts'
import type { Patient } from '../patient.ts'

/** Names every variable that is wrong; its sentence says what to write instead. */
export async function checkConfiguration({ problems }: Pick<Patient, 'problems'>): Promise<Finding[]> {
  if (problems.length === 0) return [ok('every variable can be understood')]
  return problems.map(({ name, sentence }) =>
    problem('configuration', `${name} ${sentence}; without it the default is used`, `unset ${name}`),
  )
}
