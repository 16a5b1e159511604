import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { EXIT_MEANINGS, makeProgram, VERBS } from '../../../src/program/cli/cli.ts'
import { defaultOf } from '../../../src/program/config/define-settings.ts'
import { EXIT } from '../../../src/program/frame/context.ts'
import { readTop } from '../../container/dockerfile.ts'
import { KNOWN } from '../../kit/config.ts'

const verbs = VERBS.flatMap(({ words, help }) => (help ? [{ words, help }] : []))

function commandOf(program: Command, words: string): Command {
  return words.split(' ').reduce((found, word) => {
    const command = found.commands.find((each) => each.name() === word)
    if (!command) throw new Error(`there is no verb "${words}"`)
    return command
  }, program)
}

describe('the help of every verb', () => {
  it('names settings, exit codes and valid examples', async () => {
    for (const { words, help } of verbs) {
      const parts: string[] = []
      commandOf(
        makeProgram(async () => undefined),
        words,
      )
        .configureOutput({ writeOut: (part) => void parts.push(part) })
        .outputHelp()
      const text = parts.join('')
      expect(text, words).toMatch(/^Exit codes:\n {2}0 +done\n/m)
      for (const setting of help.settings) expect(text, words).toContain(` ${setting}`)
      const longest = Math.max(...text.split('\n').map((line) => line.length))
      expect(longest, words).toBeLessThanOrEqual(120)
      for (const example of help.examples) {
        const ran: string[] = []
        const tried = makeProgram(async () => undefined)
        for (const verb of VERBS) commandOf(tried, verb.words).action(() => void ran.push(verb.words))
        await tried.parseAsync(wordsOf(example), { from: 'user' })
        expect(ran, example).toEqual([words])
      }
    }
  })

  it('names exactly the existing settings, with the purpose and default of each', () => {
    const settings: string[] = verbs.flatMap(({ help }) => help.settings)
    const known = [...KNOWN.variables.keys()].filter((name) => name !== 'MUSETTE_LOG_LEVEL')
    expect([...new Set(settings)].sort()).toEqual(known.sort())
    for (const [name, variable] of KNOWN.variables) {
      expect(variable.description, name).toMatch(/^[a-z]/)
      const fallback = defaultOf(variable)
      if (fallback !== undefined) expect(variable.parse(fallback)).toEqual(variable.parse(undefined))
    }
  })

  it('has the exit codes of docs/troubleshooting.md', () => {
    const [, section = ''] = /## Exit codes\n([\s\S]*?)\n## /.exec(readTop('docs/troubleshooting.md')) ?? []
    const meanings = EXIT_MEANINGS as Readonly<Record<string, string>>
    const codes = Object.entries(EXIT).map(([kind, code]) => `| ${code} | ${meanings[kind]} |`)
    expect(section.match(/^\| \d+ \| .* \|$/gm)).toEqual(codes)
  })
})

/** Splits a command line into the words after `musette`, up to a pipe or a redirection. */
function wordsOf(example: string): string[] {
  const [, own = ''] = /musette ((?:'[^']*'|[^|<>)'"])+)/.exec(example) ?? []
  return [...own.trim().matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
}
