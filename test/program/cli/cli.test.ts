import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { queryOnce } from '../../kit/postgres.ts'
import { LINES } from './lines.ts'
import { type CliRig, openCliRig } from './rig.ts'

const ACTIVITIES = 12
const LOGIN = ['login', '--username', 'rider', '--password-stdin']

describe('the command line', () => {
  let rig: CliRig
  beforeAll(async () => {
    rig = await openCliRig({ activities: ACTIVITIES })
  })
  afterAll(() => rig.close())

  it('requires a login before anything else, with the command to type', async () => {
    const sync = await rig.musette(['sync'])
    expect(sync).toMatchObject({ code: 3, stdout: '' })
    expect(sync.stderr).toContain('run: musette login')
  })

  it('rejects a wrong password in one line', async () => {
    const login = await rig.musette(LOGIN, { input: 'wrong\n' })
    expect(login).toMatchObject({ code: 3, stdout: '' })
    expect(login.stderr.trim().split('\n')).toHaveLength(1)
    expect(login.stderr).not.toContain('wrong\n')
  })

  it('signs in, mirrors everything, and then requests almost nothing', async () => {
    expect(await rig.musette(LOGIN, { input: 'rider\n' })).toMatchObject({ code: 0 })
    const first = await rig.musette(['sync', '--json'])
    expect(first.code).toBe(0)
    expect(JSON.parse(first.stdout)).toMatchObject({
      account: 'default',
      listed: ACTIVITIES,
      fetched: ACTIVITIES,
      failed: 0,
      pending: 0,
    })
    await rig.steer('POST', 'counts/reset')
    const second = await rig.musette(['sync', '--json'])
    expect(JSON.parse(second.stdout)).toMatchObject({ fetched: 0, failed: 0, pending: 0 })
    const asked = await rig.steer<{ requests: Record<string, number> }>('GET', 'counts')
    const requests = Object.values(asked.requests).reduce((sum, count) => sum + count, 0)
    // The list, the training info and the two lists of workouts.
    expect(requests).toBeLessThanOrEqual(4)
  })

  it('shows the status, for people and for programs', async () => {
    const status = await rig.musette(['status'])
    expect(status.stdout).toContain(`${ACTIVITIES} activities, ${ACTIVITIES} mirrored`)
    const json = JSON.parse((await rig.musette(['status', '--json'])).stdout)
    expect(json.accounts[0]).toMatchObject({ account: 'default', mirrored: ACTIVITIES, needs_login: false })
    const accounts = JSON.parse((await rig.musette(['accounts', '--json'])).stdout)
    expect(accounts).toMatchObject([{ account: 'default', base_url: rig.sandboxUrl, needs_login: false }])
  })

  it('names days in UTC with the command to type, and sets the home', async () => {
    const rows = (text: string) => queryOnce(rig.databaseUrl, text)
    const clocks = () => rows('select distinct timezone, timezone_source from training.activities')
    await rows(
      `update training.activities set start_lat = null, start_lng = null, timezone = 'UTC', timezone_source = 'unknown',
         started_at_local = started_at at time zone 'UTC'`,
    )
    const told = `${ACTIVITIES} activities with the days and hours of UTC`
    const command = 'musette accounts set default --timezone'
    expect((await rig.musette(['status'])).stdout).toContain(
      `${told}, because neither the service nor a position tells`,
    )
    expect((await rig.musette(['doctor'])).stdout).toContain(`${command} ZONE`)
    const wrong = await rig.musette(['accounts', 'set', 'default', '--timezone', 'Mars/Olympus'])
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toContain('write an IANA name such as Europe/Berlin')
    expect(await clocks()).toEqual([{ timezone: 'UTC', timezone_source: 'unknown' }])
    const set = await rig.musette(['accounts', 'set', 'default', '--timezone', 'Europe/Berlin'])
    expect(set.stdout).toBe(
      `account "default" has the time zone Europe/Berlin; ${ACTIVITIES} activities have another wall clock\n`,
    )
    expect(await clocks()).toEqual([{ timezone: 'Europe/Berlin', timezone_source: 'setting' }])
    expect((await rig.musette(['status'])).stdout).not.toContain('UTC,')
    const env = { MUSETTE_TIMEZONE: 'Asia/Tokyo' }
    await rig.musette(['sync'], { env })
    expect(await clocks()).toEqual([{ timezone: 'Europe/Berlin', timezone_source: 'setting' }])
    expect(await rig.musette(['accounts', 'set', 'default', '--timezone', 'none'])).toMatchObject({ code: 0 })
    await rig.musette(['sync'], { env })
    await rig.musette(['sync'])
    expect(await clocks()).toEqual([{ timezone: 'Asia/Tokyo', timezone_source: 'setting' }])
    const refused = await rig.musette(['sync'], { env: { MUSETTE_TIMEZONE: '+02:00' } })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain(
      'MUSETTE_TIMEZONE is not a time zone; write an IANA name such as Europe/Berlin',
    )
  })

  it('sets one heart rate of a rider, keeps the other, and clears one', async () => {
    const set = (...options: string[]) => rig.musette(['accounts', 'set', 'default', ...options])
    const rates = () => queryOnce(rig.databaseUrl, 'select resting_hr, max_hr from training.accounts')
    expect((await set('--resting-hr', '48')).stdout).toContain('resting heart rate 48, highest not set')
    expect((await set('--max-hr', '188')).stdout).toContain('resting heart rate 48, highest 188')
    expect(await rates()).toEqual([{ resting_hr: 48, max_hr: 188 }])
    expect(await set('--resting-hr', '190')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('the highest heart rate must be above the resting one'),
    })
    expect(await set('--max-hr', '18.5')).toMatchObject({ code: 2 })
    expect(await set()).toMatchObject({ code: 2, stderr: expect.stringContaining('--resting-hr') })
    expect(await set('--max-hr', 'none', '--resting-hr', '50')).toMatchObject({ code: 0 })
    expect(await rates()).toEqual([{ resting_hr: 50, max_hr: null }])
  })

  it('runs SQL, prints it as a table or as JSON, and quotes Postgres on a mistake', async () => {
    const table = await rig.musette(['sql', 'select count(*)::int as activities from training.activities'])
    expect(table.stdout).toMatch(/activities\n─+\n +12\n\(1 row\)/)
    const json = await rig.musette(['sql', '--json'], { input: 'select 1 as a; select 2 as b' })
    expect(json.stdout).toBe('[{"a":1}]\n[{"b":2}]\n')
    const deletion = 'delete from training.activities'
    expect((await rig.musette(['sql', deletion])).stderr).toContain('add --write')
    expect(await rig.musette(['sql', '--write', `begin; ${deletion}; rollback`])).toMatchObject({ code: 0 })
    const mistake = await rig.musette(['sql', 'selec 1'])
    expect(mistake).toMatchObject({ code: 2 })
    expect(mistake.stderr).toContain('syntax error at or near "selec"')
  })

  it('prints the URL of the database', async () => {
    expect((await rig.musette(['db-url'])).stdout.trim()).toBe(rig.databaseUrl)
  })

  it('refuses what it does not understand with exit code 2', async () => {
    expect(await rig.musette(['sink'])).toMatchObject({ code: 2 })
    expect(await rig.musette(['start', '--roles', 'cook'])).toMatchObject({ code: 2 })
    const config = await rig.musette(['status'], { env: { MUSETTE_LAG: 'late', MUSETTE_CONCURRENCY: 'x' } })
    expect(config.code).toBe(2)
    expect(config.stderr).toContain('MUSETTE_LAG')
    expect(config.stderr).toContain('MUSETTE_CONCURRENCY')
  })

  it('says which side is unreachable with exit code 4', async () => {
    const gone = { MUSETTE_DATA_DIR: rig.dataDir, DATABASE_URL: 'postgres://nobody:x@127.0.0.1:9/none' }
    const database = await rig.musette(['status'], { env: gone })
    expect(database.code).toBe(4)
    expect(database.stderr).not.toContain('nobody:x')
    const login = await rig.musette(['login', 'other', '--username', 'a', '--password-stdin'], {
      input: 'b\n',
      env: { MUSETTE_BASE_URL: 'http://127.0.0.1:9' },
    })
    expect(login.code).toBe(4)
  })

  it('leaves no token and no password in the clear, in the database or in what it prints', async () => {
    const tables = await queryOnce(
      rig.databaseUrl,
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('musette', 'training')`,
    )
    const texts = await Promise.all(
      tables.map(({ name }) =>
        queryOnce(rig.databaseUrl, `select row_to_json(x)::text as row from ${String(name)} x limit 2000`),
      ),
    )
    const dump = JSON.stringify(texts)
    expect(dump).toContain('needs_login')
    const logged = await rig.musette(['sync'], { env: { MUSETTE_LOG_LEVEL: 'trace' } })
    const granted = await rig.steer<{ access: string[]; refresh: string[] }>('GET', 'tokens')
    const secrets = [...granted.access, ...granted.refresh]
    expect(secrets.length).toBeGreaterThan(1)
    for (const secret of secrets) {
      expect(dump.includes(secret)).toBe(false)
      expect(`${logged.stdout}${logged.stderr}`.includes(secret)).toBe(false)
    }
  })

  it('forgets the tokens on logout and keeps the mirror', async () => {
    expect(await rig.musette(['logout', 'default'])).toMatchObject({ code: 0 })
    const sync = await rig.musette(['sync'])
    expect(sync.code).toBe(3)
    expect(sync.stderr).toContain('musette login')
    const [kept] = await queryOnce(rig.databaseUrl, 'select count(*)::int as n from training.activities')
    expect(kept).toEqual({ n: ACTIVITIES })
  })
})

describe('a database of the user', () => {
  it('of another version is refused with the command to type', async () => {
    const rig = await openCliRig({ activities: 1, migrated: false })
    try {
      const before = await rig.musette(['status'])
      expect(before.code).toBe(3)
      expect(before.stderr).toContain('the database is empty; run: musette login')
      expect(await rig.musette(['migrate'])).toMatchObject({ code: 0 })
      expect(await rig.musette(['status'])).toMatchObject({ code: 0 })
    } finally {
      await rig.close()
    }
  })

  it('of an earlier musette is refused by every verb that uses it', async () => {
    const rig = await openCliRig({ activities: 1 })
    await writeFile(join(rig.dataDir, 'ride.fit'), '')
    const verbs = [
      ['migrate'],
      ['start', '--roles', 'worker'],
      ['login', '--username', 'rider', '--password-stdin'],
      ['accounts'],
      ['status'],
      ['doctor'],
      ['resync', '--since', '2024-01-01'],
      ['key', 'rotate'],
      ...LINES.ofAccount,
    ]
    try {
      await queryOnce(rig.databaseUrl, 'update musette.migrations set created_at = created_at - 1')
      for (const verb of verbs) {
        const { code, stdout, stderr } = await rig.musette(verb, { input: 'rider' })
        expect(stdout + stderr, verb.join(' ')).toContain('an earlier musette made this database')
        expect(code, verb.join(' ')).toBe(2)
      }
    } finally {
      await rig.close()
    }
  }, 180_000)
})
