import { describe, expect, it } from 'vitest'
import { makeProgram } from '../../src/cli/cli.ts'
import { EXIT_MEANINGS, HELP, verbsOf } from '../../src/cli/help.ts'
import { defaultOf, VARIABLES } from '../../src/config/variables.ts'
import { EXIT } from '../../src/frame/context.ts'
import { readTop } from '../container/dockerfile.ts'

const program = makeProgram(async () => undefined)
const verbs = verbsOf(program).filter(([name]) => !['db-hold', 'complete'].includes(name))

describe('the help of every verb', () => {
  it('is written for each verb, and for no other', () => {
    expect(Object.keys(HELP).sort()).toEqual(verbs.map(([name]) => name).sort())
  })

  it('names settings, exit codes and examples', () => {
    for (const [name, verb] of verbs) {
      const parts: string[] = []
      verb.configureOutput({ writeOut: (part) => void parts.push(part) }).outputHelp()
      const text = parts.join('')
      expect(text, name).toMatch(/^Exit codes:\n {2}0 +done\n/m)
      for (const setting of HELP[name]?.settings ?? []) expect(text, name).toContain(` ${setting}`)
      const longest = Math.max(...text.split('\n').map((line) => line.length))
      expect(longest, name).toBeLessThanOrEqual(120)
    }
  })

  it('has valid examples', async () => {
    for (const [name, { examples }] of Object.entries(HELP)) {
      for (const example of examples) {
        const ran: string[] = []
        const tried = makeProgram(async () => undefined)
        for (const [verb, command] of verbsOf(tried)) command.action(() => void ran.push(verb))
        await tried.parseAsync(wordsOf(example), { from: 'user' })
        expect(ran, example).toEqual([name])
      }
    }
  })

  it('names every setting in the help of a verb', () => {
    const named = new Set(Object.values(HELP).flatMap(({ settings }) => settings))
    const others = (Object.keys(VARIABLES) as Array<keyof typeof VARIABLES>).filter(
      (name) => !named.has(name),
    )
    expect(others).toEqual(['MUSETTE_LOG_LEVEL'])
  })

  it('has the exit codes of docs/troubleshooting.md', () => {
    for (const [kind, code] of Object.entries(EXIT))
      expect(readTop('docs/troubleshooting.md')).toContain(
        `| ${code} | ${EXIT_MEANINGS[kind as keyof typeof EXIT]} |`,
      )
  })
})

it('every setting has a purpose, and the default of its help', () => {
  for (const [name, variable] of Object.entries(VARIABLES)) {
    expect(variable.description, name).toMatch(/^[a-z]/)
    const fallback = defaultOf(name as keyof typeof VARIABLES)
    if (fallback !== undefined) expect(variable.parse(fallback)).toEqual(variable.parse(undefined))
  }
})

/** Splits a command line into the words after `musette`, up to a pipe or a redirection. */
function wordsOf(example: string): string[] {
  const [, own = ''] = /musette ((?:'[^']*'|[^|<>)'"])+)/.exec(example) ?? []
  return [...own.trim().matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}
