import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeProgram } from '../../../src/program/cli/cli.ts'
import { makeFitFile } from '../../../src/sandbox/fit-file.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { type CliRig, openCliRig } from './rig.ts'

/** The verbs of one account, each with the rest of a command line that it takes. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  sync: [],
  verify: [],
  resync: ['nowhere'],
  rebuild: [],
  export: ['nowhere'],
  upload: ['ride.fit'],
  attach: ['ride.fit'],
  'workout list': [],
  'workout export': ['lunch tempo', '--format', 'erg'],
  'accounts set': ['--timezone', 'Europe/Berlin'],
  // Last: it signs out.
  logout: [],
}
/** Their output does not say whose it is. */
const SILENT = ['upload', 'workout list', 'workout export']
/** They make an account, or are about all of them unless one is named. */
const OTHERS = ['login', 'mcp', 'changes', 'reader']

const lineOf = (verb: string) => [...verb.split(' '), ...(VERBS[verb] ?? [])]

function verbsOf(command: Command, above = ''): string[] {
  return command.commands.flatMap((verb) => {
    const name = `${above}${verb.name()}`
    const hasAccount =
      verb.registeredArguments.some((argument) => argument.name() === 'account') ||
      verb.options.some(({ long }) => long === '--account')
    return [...(hasAccount ? [name] : []), ...verbsOf(verb, `${name} `)]
  })
}

describe('a verb of one account, without its name,', () => {
  let rig: CliRig
  const signIn = (name: string) =>
    rig.musette(['login', name, '--username', 'rider', '--password-stdin'], { input: 'rider' })
  beforeAll(async () => {
    rig = await openCliRig({ activities: 1 })
    const bytes = makeFitFile({ startedAt: new Date('2025-01-05T09:00:00Z'), seconds: 60, seed: 1 })
    await writeFile(join(rig.dataDir, 'ride.fit'), bytes)
  })
  afterAll(() => rig.close())

  it('is in this list', () => {
    const verbs = verbsOf(makeProgram(async () => undefined))
    expect(verbs.toSorted()).toEqual([...Object.keys(VERBS), ...OTHERS].toSorted())
  })

  it.each(Object.keys(VERBS))('%s says how to sign in where there is no account', async (verb) => {
    const { code, stdout, stderr } = await rig.musette(lineOf(verb))
    expect(stderr).toBe('musette: there is no account yet; run: musette login\n')
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
  })

  it('uses the only account', async () => {
    await signIn('rider1')
    for (const verb of Object.keys(VERBS)) {
      const { code, stdout, stderr } = await rig.musette(lineOf(verb))
      expect(stderr + stdout, verb).not.toMatch(/no account|which/)
      if (!SILENT.includes(verb)) expect(stderr + stdout, verb).toContain('account "rider1"')
      expect(code, verb).toBe(['resync', 'export'].includes(verb) ? 2 : 0)
    }
    const [{ uploads } = {}] = await queryOnce(
      rig.databaseUrl,
      'select count(*)::int as uploads from training.uploads',
    )
    expect(uploads).toBe(1)
  }, 120_000)

  it('names the accounts and the command with several accounts and no default', async () => {
    await signIn('rider1')
    await signIn('rider2')
    for (const verb of Object.keys(VERBS)) {
      const { code, stdout, stderr } = await rig.musette(lineOf(verb))
      const [, command = ''] = /say which one, for example: musette (.*)\n$/.exec(stderr) ?? []
      expect(stderr, verb).toContain('there are the accounts "rider1" and "rider2";')
      expect({ code, stdout }, verb).toEqual({ code: 2, stdout: '' })
      const named = await rig.musette([...command.split(' '), ...(VERBS[verb] ?? [])])
      expect(named.stderr + named.stdout, verb).not.toContain('which one')
      if (!SILENT.includes(verb)) expect(named.stderr + named.stdout, verb).toContain('account "rider1"')
    }
    const unknown = await rig.musette(['rebuild', '--account', 'rider3'])
    expect(unknown.stderr).toBe(
      'musette: there is no account "rider3" yet, only "rider1" and "rider2"; run: musette login rider3\n',
    )
  }, 120_000)

  it('uses the default one of several', async () => {
    await signIn('default')
    for (const verb of ['sync', 'rebuild', 'accounts set', 'logout']) {
      const { code, stdout, stderr } = await rig.musette(lineOf(verb))
      expect(stderr + stdout, verb).toContain('account "default"')
      expect(code, verb).toBe(0)
    }
  }, 60_000)
})
