import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFitFile } from '../../../src/sandbox/fit-file.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { LINES, wordsOfVerb } from './lines.ts'
import { type CliRig, openCliRig } from './rig.ts'

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

  it.each(LINES.ofAccount.map((line) => [line.join(' '), line] as const))(
    '%s says how to sign in where there is no account',
    async (_, line) => {
      const { code, stdout, stderr } = await rig.musette(line)
      expect(stderr).toBe('musette: there is no account yet; run: musette login\n')
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    },
  )

  it('uses the only account', async () => {
    await signIn('rider1')
    for (const line of LINES.ofAccount) {
      const verb = wordsOfVerb(line)
      const { code, stdout, stderr } = await rig.musette(line)
      expect(stderr + stdout, verb).not.toMatch(/no account|which/)
      if (!LINES.silent.includes(verb)) expect(stderr + stdout, verb).toContain('account "rider1"')
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
    for (const line of LINES.ofAccount) {
      const verb = wordsOfVerb(line)
      const { code, stdout, stderr } = await rig.musette(line)
      const [, command = ''] = /say which one, for example: musette (.*)\n$/.exec(stderr) ?? []
      expect(stderr, verb).toContain('there are the accounts "rider1" and "rider2";')
      expect({ code, stdout }, verb).toEqual({ code: 2, stdout: '' })
      const named = await rig.musette([...command.split(' '), ...line.slice(verb.split(' ').length)])
      expect(named.stderr + named.stdout, verb).not.toContain('which one')
      if (!LINES.silent.includes(verb))
        expect(named.stderr + named.stdout, verb).toContain('account "rider1"')
    }
    const unknown = await rig.musette(['rebuild', '--account', 'rider3'])
    expect(unknown.stderr).toBe(
      'musette: there is no account "rider3" yet, only "rider1" and "rider2"; run: musette login rider3\n',
    )
  }, 120_000)

  it('uses the default one of several', async () => {
    await signIn('default')
    for (const line of LINES.ofAccount.filter((line) =>
      /^(?:sync|rebuild|accounts|logout)$/.test(line[0] ?? ''),
    )) {
      const verb = line.join(' ')
      const { code, stdout, stderr } = await rig.musette(line)
      expect(stderr + stdout, verb).toContain('account "default"')
      expect(code, verb).toBe(0)
    }
  }, 60_000)
})
