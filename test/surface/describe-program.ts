import { CommanderError } from 'commander'
import { EXIT_MEANINGS, makeProgram, VERBS } from '../../src/program/cli/cli.ts'
import { defaultOf } from '../../src/program/config/define-settings.ts'
import { defaultDataDir } from '../../src/program/config/variables.ts'
import { EXIT } from '../../src/program/frame/context.ts'
import { KNOWN } from '../kit/config.ts'

export function describeProgram(): string {
  const codes = Object.entries(EXIT) as Array<[keyof typeof EXIT, number]>
  return [
    '## exit codes\n',
    ...codes.map(([kind, code]) => `${code} ${EXIT_MEANINGS[kind]}`),
    '\n## variables\n',
    ...[...KNOWN.variables].map(([name, variable]) => {
      const fallback =
        defaultOf(variable)?.replace(defaultDataDir(), '<data directory of the system>') ?? 'unset'
      return `${name} (${fallback})${KNOWN.fromFile.includes(name) ? `, ${name}_FILE` : ''}`
    }),
    '\n## help\n',
    helpOf([]),
    ...VERBS.map(({ words }) => helpOf(words.split(' '))),
  ].join('\n')
}

function helpOf(verb: readonly string[]): string {
  const program = makeProgram(async () => undefined)
  const parts: string[] = []
  const output = { writeOut: (part: string) => void parts.push(part), getOutHelpWidth: () => 100 }
  for (const command of [program, ...program.commands.flatMap((each) => [each, ...each.commands])])
    command.configureOutput(output)
  let code: number | undefined
  try {
    program.parse([...verb, '--help'], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    code = error.exitCode
  }
  return `musette ${[...verb, '--help'].join(' ')} ends with ${code}:\n${parts.join('')}`
}
