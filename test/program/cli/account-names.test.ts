import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { makeRide } from '../../kit/ride.ts'
import { LINES, withAccount } from './lines.ts'
import { type CliRig, openCliRig } from './rig.ts'

/** Names that `musette login` refuses. */
const REFUSED = ['my rides', '../mine', 'fährte', '_mine', 'done', 'a'.repeat(64), '$(id)', '']
const RULE = 'an account name is letters, digits, - and _'

let rig: CliRig
beforeAll(async () => {
  rig = await openCliRig({ activities: 1 })
  await rig.signIn()
  await writeFile(join(rig.dataDir, 'ride.fit'), makeRide())
})
afterAll(() => rig.close())

/** Each verb with some of the names, and each name with some of the verbs. */
const ROWS = [...LINES.ofAccount, ...LINES.refuses].map(
  (line, n) => [line.join(' '), line, REFUSED.filter((_, at) => (at + n) % 4 === 0)] as const,
)

it.each(ROWS)(
  '%s does not advise a login under a name that the login refuses, and says which it takes',
  async (_, line, names) => {
    for (const name of names) {
      const { code, stderr } = await rig.musette(withAccount(line, name))
      expect(code, `${name}: ${stderr}`).toBeGreaterThan(0)
      expect(stderr).not.toContain('musette login')
      expect(stderr).toContain(RULE)
    }
    expect((await rig.musette(withAccount(line, 'partner'))).stderr).toMatch(
      /run: musette (?:login partner|accounts)/,
    )
  },
)

it('a login explains the rule', async () => {
  for (const name of REFUSED) {
    const { code, stderr } = await rig.musette(['login', '--', name])
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(RULE) })
  }
})

it('a folder with an impossible account name waits, and its reason suggests no login', async () => {
  await mkdir(join(rig.dataDir, 'drop', 'my rides'), { recursive: true })
  await writeFile(join(rig.dataDir, 'drop', 'my rides', 'ride.fit'), makeRide())
  const daemon = rig.start(['start'])
  const find = () =>
    queryOnce(rig.databaseUrl, `select reason from training.waiting_files where code = 'no_account'`)
  await eventually(async () => (await find()).length > 0)
  const [waiting] = await find()
  await daemon.kill('SIGTERM')
  expect(waiting?.reason).not.toContain('musette login')
  expect(waiting?.reason).toContain(RULE)
})
