import { type Finding, ok, problem } from '../finding.ts'

const LEAST = [20, 19] as const

/** Looks at the version of Node; `version` is for tests. */
export async function checkNode(_patient: unknown, version = process.versions.node): Promise<Finding[]> {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1])) {
    const found = `Node ${version} is too old; install Node 24 (${LEAST.join('.')} is the least)`
    return [problem('configuration', found, 'node --version')]
  }
  const note = major < 22 ? ', which works; it has had no security fixes since April 2026, Node 24 has' : ''
  return [ok(`Node ${version}${note}`)]
}
