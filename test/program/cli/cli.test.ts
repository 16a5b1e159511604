import { describe, expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { readEnv, readTable } from '../../kit/table.ts'
import { openCliRig } from './rig.ts'

const ACTIVITIES = 3
const SECRET = 'hunter2'
const CLIENT = '--client-id demo_app --client-secret demo_secret'

const rig = openForAll(() => openCliRig({ activities: ACTIVITIES, isSignedIn: true }))

/** Columns: the case, the command line, the exit code, the output on either channel, the settings, the standard input. */
const ROWS = readTable(String.raw`
a comparison before the first pass | verify | 0 | musette sync | |
a first pass | sync | 0 | account "default": 3 new; 3 activities here, the newest of 20 | |
a comparison without a difference | verify --all | 0 | account "default": 3 of 3 activities are the same here and at the service | |
a comparison of some | verify --sample 3 | 0 | 3 of 3 activities | |
a verb that is none | sink | 2 | unknown command 'sink' | |
a role that is none | start --roles cook | 2 | unknown role cook; the roles are | |
several wrong settings at once | status | 2 | MUSETTE_LAG[^]*MUSETTE_CONCURRENCY | MUSETTE_LAG=late MUSETTE_CONCURRENCY=x |
a database that is away | status | 4 | database | DATABASE_URL=postgres://nobody:${SECRET}@127.0.0.1:9/none |
a service that is away | login other --username a --password-stdin | 4 | service | MUSETTE_BASE_URL=http://127.0.0.1:9 | ${SECRET}
a wrong password, in one line | login --username rider --password-stdin | 3 | ^musette: [^\n]+\n$ | | ${SECRET}
a client that the service does not know | login other --browser --client-id nobody --client-secret x | 2 | refuses the redirect address .* \(status 400\); run: musette login | |
a redirect address that it does not know | login other --paste ${CLIENT} --redirect-uri https://rider.example/back | 2 | refuses the redirect address .* \(status 400\); run: musette login | |
an address that was not pasted | login other --paste ${CLIENT} | 2 | musette login --browser --paste | |
an account with nothing to set | accounts set default | 2 | --resting-hr | |
a fraction of a heart rate | accounts set default --max-hr 18.5 | 2 | max-hr | |
a time zone of Mars | accounts set default --timezone Mars/Olympus | 2 | write an IANA name such as Europe/Berlin | |
a time zone by its offset | sync | 2 | MUSETTE_TIMEZONE is not a time zone; write an IANA name such as Europe/Berlin | MUSETTE_TIMEZONE=+02:00 |
a comparison of an activity that is none | verify nowhere | 2 | has no activity nowhere | |
a comparison of all and some | verify --all --sample 3 | 2 | musette verify --help | |
a comparison of no number | verify --sample some | 2 | --sample takes a whole number | |
a report that cannot be written | verify --report no/such/file.json | 2 | \(ENOENT\); name another file | |
an upload of a file that is none | upload nothing.fit | 2 | nothing\.fit | |
an upload of nothing | upload | 2 | missing required argument | |
a join of a folder that is none | attach nowhere | 2 | nowhere | |
a plan as JSON without a plan | migrate --json | 2 | --json needs --plan | |
a shell without completion | completion tcsh | 2 | bash, zsh, fish | |
a completion beside wrong settings | completion bash | 0 | complete | DATABASE_URL=nonsense MUSETTE_POLL_EVERY=never |
a pass that finds nothing | sync | 0 | ^account "default": nothing new; 3 activities here, the newest of 20 | |
the status of a mirror | status | 0 | 3 activities, 3 mirrored | |
a logout | logout default | 0 | account "default" | |
a pass after a logout | sync | 3 | run: musette login | |`)

describe('the command line', () => {
  it.each(ROWS)('answers %s: musette %s', async (_what, line = '', code, says = '', settings = '', input) => {
    const ended = await rig.musette(line.split(' '), { env: readEnv(settings), ...(input && { input }) })
    const said = ended.stdout + ended.stderr
    expect(said).toMatch(new RegExp(says))
    expect(ended.code).toBe(Number(code))
    expect(said).not.toContain(SECRET)
  })

  const findPath = async () =>
    String((await rig.rows('select path from training.activities order by activity_id limit 1'))[0]?.path)

  it('verify shows both values of each differing field, exits 5, and repairs only on request', async () => {
    await rig.signIn()
    const path = await findPath()
    const where = `where activity_id = (select activity_id from training.activities where path = '${path}')`
    await rig.rows(`update training.samples set hr = hr + 1 ${where}`)
    await rig.rows(`update training.activities set xss = 1.5 ${where}`)
    const found = await rig.musette(['verify', path])
    expect(found.code).toBe(5)
    const lines = [
      'xss is 1.5 here and [0-9.]+ at the service',
      'samples.hr is \\d+ here and \\d+ at the service, the first of \\d+ values',
    ]
    for (const line of lines) expect(found.stdout).toMatch(new RegExp(`^${path}: ${line}$`, 'm'))
    expect(found.stderr).toContain('add --repair')
    const shown = (await rig.musette(['verify', '--all', '--json'])).stdout.trim().split('\n')
    expect(shown).toHaveLength(4)
    expect(JSON.parse(shown.at(-1) ?? '')).toMatchObject({
      ...{ account: 'default', compared: 3, equal: 2, different: 1, repaired: 0, failed: 0 },
    })
    const repaired = await rig.musette(['verify', path, '--repair'])
    expect(repaired.code).toBe(5)
    expect(repaired.stderr).toContain('1 of them are now recorded as at the service')
  })

  it('sets one heart rate of a rider, keeps the other, and clears one', async () => {
    const set = (...options: string[]) => rig.musette(['accounts', 'set', 'default', ...options])
    expect((await set('--resting-hr', '48')).stdout).toContain('resting heart rate 48, maximum not set')
    expect((await set('--max-hr', '188')).stdout).toContain('resting heart rate 48, maximum 188')
    const wrong = await set('--resting-hr', '190')
    expect(wrong.stderr).toContain('the maximum heart rate must be above the resting heart rate')
    expect(await set('--max-hr', 'none', '--resting-hr', '50')).toMatchObject({ code: 0 })
    const rates = await rig.rows('select resting_hr, max_hr from training.accounts')
    expect(rates).toEqual([{ resting_hr: 50, max_hr: null }])
  })

  it('verify names the activities that it cannot compare', async () => {
    const path = await findPath()
    await rig.steer('PATCH', `activities/${path}`, { broken: 'html' })
    const broken = await rig.musette(['verify', '--all'])
    expect(broken).toMatchObject({ code: 5, stderr: expect.stringContaining('1 could not be compared') })
    expect(broken.stdout).toContain(`${path}: `)
    await rig.steer('POST', 'faults', { path: '.*', kind: 'status', status: 503, times: 'always' })
    const { code, stderr } = await rig.musette(['verify', '--all'])
    expect([code, stderr.trim().split('\n').at(-1)]).toEqual([4, expect.stringContaining('service')])
  })
})
