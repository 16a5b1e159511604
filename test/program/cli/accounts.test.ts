import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { LINES, withAccount, wordsOfVerb } from './lines.ts'
import { openCliRig } from './rig.ts'

/** Names that `musette login` refuses. */
const REFUSED = ['my rides', '../mine', 'fährte', '_mine', 'done', 'a'.repeat(64), '$(id)', '']
const RULE = 'an account name is letters, digits, - and _'

const rig = openForAll(() => openCliRig({ activities: 1 }))
beforeAll(() => writeFile(join(rig.dataDir, 'ride.fit'), makeRide()))

describe('a verb for one account, without a name,', () => {
  it.each(LINES.ofAccount.map((line) => [line.join(' '), line] as const))(
    '%s says how to sign in if there is no account',
    async (_, line) => {
      const { code, stdout, stderr } = await rig.musette(line)
      expect(stderr).toBe('musette: there is no account yet; run: musette login\n')
      expect({ code, stdout }).toEqual({ code: 3, stdout: '' })
    },
  )

  it('uses the only account', async () => {
    await rig.signIn('rider1')
    for (const line of LINES.ofAccount) {
      const verb = wordsOfVerb(line)
      const { code, stdout, stderr } = await rig.musette(line)
      expect(stderr + stdout, verb).not.toMatch(/no account|which/)
      if (!LINES.silent.includes(verb)) expect(stderr + stdout, verb).toContain('account "rider1"')
      expect(code, verb).toBe(['resync', 'export'].includes(verb) ? 2 : 0)
    }
    expect(await rig.rows('select file_name from training.uploads')).toEqual([{ file_name: 'ride.fit' }])
  }, 120_000)

  it('names the accounts and a working command if there are several and no default', async () => {
    await rig.signIn('rider1')
    await rig.signIn('rider2')
    for (const line of LINES.ofAccount) {
      const verb = wordsOfVerb(line)
      const { code, stdout, stderr } = await rig.musette(line)
      const [, command = ''] = /; name one, for example: musette (.*)\n$/.exec(stderr) ?? []
      expect(stderr, verb).toContain('there are several accounts ("rider1" and "rider2");')
      expect({ code, stdout }, verb).toEqual({ code: 2, stdout: '' })
      const named = await rig.musette([...command.split(' '), ...line.slice(verb.split(' ').length)])
      expect(named.stderr + named.stdout, verb).not.toContain('name one')
    }
    expect((await rig.musette(['rebuild', '--account', 'rider3'])).stderr).toBe(
      'musette: there is no account "rider3" yet, only "rider1" and "rider2"; run: musette login rider3\n',
    )
  }, 120_000)

  it('uses the account default if there are several', async () => {
    await rig.signIn('default')
    for (const line of [['sync'], ['rebuild']]) {
      const { code, stdout, stderr } = await rig.musette(line)
      expect(stderr + stdout).toContain('account "default"')
      expect(code).toBe(0)
    }
  })
})

describe('a name that the login refuses', () => {
  /** Each verb with some of the names, and each name with some of the verbs. */
  const ROWS = [...LINES.ofAccount, ...LINES.refuses].map(
    (line, n) => [line.join(' '), line, REFUSED.filter((_, at) => (at + n) % 4 === 0)] as const,
  )

  it.each(ROWS)('is refused by %s with the rule, without advice to sign in', async (_, line, names) => {
    for (const name of names) {
      const { code, stderr } = await rig.musette(withAccount(line, name))
      expect(code, `${name}: ${stderr}`).toBeGreaterThan(0)
      expect(stderr).not.toContain('musette login')
      expect(stderr).toContain(RULE)
    }
    const { stderr } = await rig.musette(withAccount(line, 'partner'))
    expect(stderr).toMatch(/run: musette (?:login partner|accounts)/)
  })

  it('is refused by the login with the rule; as a folder its files wait with that reason', async () => {
    for (const name of REFUSED) {
      const { code, stderr } = await rig.musette(['login', '--', name])
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(RULE) })
    }
    await mkdir(join(rig.dataDir, 'drop', 'my rides'), { recursive: true })
    await writeFile(join(rig.dataDir, 'drop', 'my rides', 'ride.fit'), makeRide())
    const daemon = rig.start(['start', '--roles', 'watcher'])
    const find = () => rig.rows(`select reason from training.waiting_files where code = 'no_account'`)
    const [waiting] = await eventually(async () => (await find()).length > 0 && find())
    await daemon.kill('SIGTERM')
    expect(waiting?.reason).not.toContain('musette login')
    expect(waiting?.reason).toContain(RULE)
  })
})
