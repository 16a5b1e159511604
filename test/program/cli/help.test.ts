import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { FEATURES } from '../../../src/features/index.ts'
import { EXIT_MEANINGS, makeProgram, VERBS } from '../../../src/program/cli/cli.ts'
import { defaultOf } from '../../../src/program/config/define-settings.ts'
import { EXIT } from '../../../src/program/frame/context.ts'
import { readTop } from '../../container/dockerfile.ts'
import { KNOWN } from '../../kit/config.ts'

const verbs = VERBS.flatMap(({ words, help }) => (help ? [{ words, help }] : []))
const settings: string[] = verbs.flatMap(({ help }) => help.settings)

function commandOf(program: Command, words: string): Command {
  return words.split(' ').reduce((found, word) => {
    const command = found.commands.find((each) => each.name() === word)
    if (!command) throw new Error(`there is no verb "${words}"`)
    return command
  }, program)
}

describe('the help of every verb', () => {
  it('has the verbs of each feature behind the one that the feature names', () => {
    const listed = VERBS.map(({ words }) => words)
    for (const { name, verbs } of FEATURES)
      for (const { words } of verbs?.all ?? []) {
        expect(listed, name).toContain(words)
        expect(listed.indexOf(words), words).toBeGreaterThan(listed.indexOf(verbs?.after ?? ''))
      }
    expect(new Set(listed).size).toBe(listed.length)
  })

  it('names settings, exit codes and examples', () => {
    const program = makeProgram(async () => undefined)
    for (const { words, help } of verbs) {
      const parts: string[] = []
      commandOf(program, words)
        .configureOutput({ writeOut: (part) => void parts.push(part) })
        .outputHelp()
      const text = parts.join('')
      expect(text, words).toMatch(/^Exit codes:\n {2}0 +done\n/m)
      for (const setting of help.settings) expect(text, words).toContain(` ${setting}`)
      const longest = Math.max(...text.split('\n').map((line) => line.length))
      expect(longest, words).toBeLessThanOrEqual(120)
    }
  })

  it('has valid examples', async () => {
    for (const { words, help } of verbs) {
      for (const example of help.examples) {
        const ran: string[] = []
        const tried = makeProgram(async () => undefined)
        for (const verb of VERBS) commandOf(tried, verb.words).action(() => void ran.push(verb.words))
        await tried.parseAsync(wordsOf(example), { from: 'user' })
        expect(ran, example).toEqual([words])
      }
    }
  })

  it('names every setting in the help of a verb, and no other', () => {
    const known = [...KNOWN.variables.keys()].filter((name) => name !== 'MUSETTE_LOG_LEVEL')
    expect([...new Set(settings)].sort()).toEqual(known.sort())
  })

  it('has the settings of a feature in the help of verbs of the core that exist', () => {
    const core = new Set(verbs.map(({ words }) => words))
    for (const { name, settingsOf = {} } of FEATURES)
      for (const words of Object.keys(settingsOf)) expect(core, name).toContain(words)
  })

  it('has the exit codes of docs/troubleshooting.md', () => {
    for (const [kind, code] of Object.entries(EXIT))
      expect(readTop('docs/troubleshooting.md')).toContain(
        `| ${code} | ${EXIT_MEANINGS[kind as keyof typeof EXIT]} |`,
      )
  })
})

it('every setting has a purpose, and the default of its help', () => {
  for (const [name, variable] of KNOWN.variables) {
    expect(variable.description, name).toMatch(/^[a-z]/)
    const fallback = defaultOf(variable)
    if (fallback !== undefined) expect(variable.parse(fallback)).toEqual(variable.parse(undefined))
  }
})

/** Splits a command line into the words after `musette`, up to a pipe or a redirection. */
function wordsOf(example: string): string[] {
  const [, own = ''] = /musette ((?:'[^']*'|[^|<>)'"])+)/.exec(example) ?? []
  return [...own.trim().matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}
