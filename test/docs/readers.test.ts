import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { runCli } from '../../src/program/cli/cli.ts'
import { readTop } from '../container/dockerfile.ts'
import { KNOWN, readConfig } from '../kit/config.ts'

const PAGES = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'],
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

it.each([
  ['README.md', 900],
  ['ARCHITECTURE.md', 2_000],
  ['CONTRIBUTING.md', 1_000],
  ['docs/installing.md', 2_000],
])('a page is short: %s has at most %i words', (page, most) => {
  expect(readTop(page).split(/\s+/).length).toBeLessThanOrEqual(most)
})

describe('the pages of an operator', () => {
  const rows = [...readTop('docs/settings.md').matchAll(/^\| (`.+?) \| .+ \| (.+) \|$/gm)]
  const settings = rows.flatMap(([, names = '', fallback = '']) =>
    [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => ({ name, fallback })),
  )

  it('lists every variable that musette reads, and no other, with its default and its _FILE variant', () => {
    expect(settings.map(({ name }) => name).sort()).toEqual([...KNOWN.variables.keys()].sort())
    const defaults = settings.flatMap(({ name, fallback }) => {
      const value = /^`([^`]+)`(?: for both)?$/.exec(fallback)?.[1]
      return value === undefined ? [] : [[name, value]]
    })
    expect(defaults.length).toBeGreaterThan(10)
    expect({ ...readConfig(Object.fromEntries(defaults)), setIn: {} }).toEqual(readConfig({}))
    const twins = [...readTop('docs/settings.md').matchAll(/`?([A-Z_]+)_FILE=/g)].map(([, name]) => name)
    expect(twins).not.toEqual([])
    expect(KNOWN.fromFile).toEqual(expect.arrayContaining(twins))
  })
})

const WITHIN_VERBS = ['key rotate', 'accounts set', 'accounts add', 'workout list', 'workout export']

describe('every page', () => {
  it('names verbs and options that exist', async () => {
    const verbs = [...(await help()).matchAll(/^ {2}([a-z-]+) /gm)].map(([, verb]) => verb)
    const named = new Map<string, Set<string>>()
    for (const command of PAGES.flatMap(commandsOf)) {
      const within = WITHIN_VERBS.find((verb) => command.startsWith(`${verb} `) || command === verb)
      const words = (within ? command.slice(within.length) : command).trim().split(/\s+/)
      const [verb = '', ...rest] = within ? [within, ...words] : words
      expect(verbs, command).toContain(verb.split(' ')[0])
      const options = rest
        .filter((word) => /^--[a-z]/.test(word))
        .map((word) => word.replace(/[^a-z-].*$/, ''))
      named.set(verb, new Set([...(named.get(verb) ?? []), ...options]))
    }
    expect(named.size).toBeGreaterThan(10)
    for (const [verb, options] of [...named].filter(([, options]) => options.size > 0)) {
      const text = await help(...verb.split(' '))
      for (const option of options) expect(text, `musette ${verb} ${option}`).toContain(option)
    }
  })

  it('links to files and headings that exist', () => {
    const anchorOf = (heading: string) =>
      heading
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .trim()
        .replace(/\s/g, '-')
    const broken = PAGES.flatMap((page) =>
      [...readTop(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].flatMap(
        ([link, path, anchor]) => {
          const target = path ? new URL(path, `file:///${page}`).pathname.slice(1) : page
          if (!existsSync(new URL(`../../${target}`, import.meta.url))) return [`${page}: ${link}`]
          const headings = [...readTop(target).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
            anchorOf(heading ?? ''),
          )
          return anchor && !headings.includes(anchor) ? [`${page}: ${link}`] : []
        },
      ),
    )
    expect(broken).toEqual([])
  })
})

/** The commands in the code of a page, each from its verb on, without what a shell would do with its output. */
function commandsOf(page: string): string[] {
  const text = readTop(page)
  const code = [...text.matchAll(/`([^`\n]+)`|^ {4}(.+)$/gm)].map(([, span, line]) => span ?? line ?? '')
  return code.flatMap((each) => {
    const [, command] =
      /(?:^|\$\(|[ =…])(?:npx )?musette (?!node |https?:)([a-z][a-z-]*(?: [^|<>#)]*)?)/.exec(each) ?? []
    return command ? [command.trim()] : []
  })
}

/** The help of a verb, or of the program. */
async function help(...verb: string[]): Promise<string> {
  const written: string[] = []
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  try {
    await runCli([...verb, '--help'])
  } finally {
    write.mockRestore()
  }
  return written.join('')
}
