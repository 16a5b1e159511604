import { execFileSync } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FEATURES } from '../../../src/features/index.ts'
import { loadStates } from '../../../src/program/frame/findings/facts.ts'
import { readTop } from '../../container/dockerfile.ts'
import { makeRichFit } from '../../core/fit/make-rich-fit.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { openReceiver } from '../../kit/receiver.ts'
import { makeRide } from '../../kit/ride.ts'
import { openCliRig } from '../cli/rig.ts'
import { doctor, look, type, typeVerb } from './rig.ts'

describe('what a verb says is to be typed', () => {
  const rig = openForAll(() => openCliRig({ activities: 2, migrated: false }))

  const typing = (more: { fill?: Record<string, string>; input?: string } = {}) => ({
    env: rig.env,
    cwd: rig.dataDir,
    ...more,
  })
  const findPath = async (rule: string) =>
    String((await rig.rows(`select path from training.activities where ${rule} limit 1`))[0]?.path)

  it('leads from nothing to an account and its history, step by step', async () => {
    const empty = await rig.musette(['sync'])
    const nameless = await typeVerb('musette login', empty.stderr, typing())
    const fill = { NAME: 'rider' }
    const silent = await typeVerb('musette login', nameless.stderr, typing({ fill }))
    const done = await typeVerb('musette login', silent.stderr, typing({ fill, input: 'rider' }))
    expect([empty.code, nameless.code, silent.code, done.code]).toEqual([3, 2, 2, 0])
    const { stdout } = await rig.musette(['workout', 'list'])
    expect(await typeVerb('musette sync', stdout, typing())).toMatchObject({ code: 0 })
    expect((await rig.musette(['workout', 'list'])).stdout).toContain('Lunch Tempo')
  })

  it.each<[kind: string, said: string, then: RegExp]>([
    ['musette accounts', 'export 0f --account _mine', /default/],
    ['musette workout', 'workout export nosuch --format erg', /Lunch Tempo/],
    ['musette verify', 'verify --sample x', /^Usage: musette verify/],
    ['musette key', 'key rotate --to elsewhere.key', /sealed with a new key/],
    ['musette export', 'export --all --check --to history', /^/],
  ])('%s answers what `%s` asks for', async (kind, said, then) => {
    await mkdir(join(rig.dataDir, 'history'), { recursive: true })
    const { code, stderr } = await rig.musette(said.split(' '))
    expect(code).toBeGreaterThan(0)
    const typed = await typeVerb(kind, stderr, typing())
    expect(typed).toMatchObject({ code: 0, stdout: expect.stringMatching(then) })
  })

  it('fetches an activity again that cannot be rebuilt, and shows one that failed', async () => {
    const path = await findPath('true')
    await rig.rows(
      `update training.raw_documents set body = 'x' where activity_id = (select activity_id from training.activities where path = '${path}')`,
    )
    const rebuilt = await rig.musette(['rebuild'])
    expect(rebuilt.code).toBe(5)
    await rig.steer('POST', 'faults', { path: `/${path}`, kind: 'html', times: 1 })
    const failed = await typeVerb('musette resync', rebuilt.stderr, typing())
    expect(failed.code).toBe(5)
    expect((await typeVerb('musette status', failed.stderr, typing())).stdout).toContain(path)
    expect(await typeVerb('musette resync', rebuilt.stderr, typing())).toMatchObject({ code: 0 })
    expect(await rig.musette(['rebuild'])).toMatchObject({ code: 0 })
  })

  it('shows why the files of a drop folder are not found', async () => {
    const env = { ...rig.env, MUSETTE_DROP_DIR: `${rig.dataDir}-share/drop` }
    await rig.rows(
      `insert into training.waiting_files (folder, path, code, reason, waiting_since, looked_at)
       values ('${env.MUSETTE_DROP_DIR}', '${env.MUSETTE_DROP_DIR}', 'vanished', 'it is gone', now(), now())`,
    )
    const [gone] = (await doctor(rig, env)).of('waiting files')
    const { stdout } = await typeVerb('musette doctor', gone?.run, { env })
    expect(stdout).toContain('-share/drop is not there; if it has a disk of its own, mount that')
    await rig.rows('delete from training.waiting_files')
  })

  it('keeps the FIT file of a ride that was uploaded, and reads it anew after an upgrade', async () => {
    const file = join(rig.dataDir, 'ride.fit')
    await writeFile(file, makeRide())
    await rig.steer('PATCH', 'settings', { sample_delay_ms: 0 })
    await rig.musette(['upload', file])
    await rig.musette(['sync'])
    await rig.rows('delete from training.fit_originals')
    const path = await findPath(
      `activity_id = (select activity_id from training.uploads where activity_id is not null)`,
    )
    const missing = await rig.musette(['export', path, '--format', 'fit'])
    expect(missing.code).toBe(5)
    const given = await typeVerb('musette upload', missing.stderr, typing({ fill: { FILE: file } }))
    expect(given).toMatchObject({ code: 0 })
    const exported = join(rig.dataDir, 'exported.fit')
    const prefix = ['sh', '-c', `exec "$0" "$@" > ${exported}`]
    const fit = [distPath('main.js'), 'export', path, '--format', 'fit']
    expect(await runNode(fit, { prefix, ...typing() })).toMatchObject({ code: 0 })
    expect((await readFile(exported)).equals(makeRide())).toBe(true)
    await rig.rows('update training.fit_files set reader_version = reader_version - 1')
    const fits = async () => (await doctor(rig)).of('fit files')
    const [outdated] = await fits()
    expect(outdated?.state).toBe('warning')
    expect(await typeVerb('musette rebuild', outdated?.run, typing())).toMatchObject({ code: 0 })
    expect(await fits()).toMatchObject([{ state: 'ok' }])
  })

  it('makes each table anew that the page on a damaged one names for it', async () => {
    const page = readTop('docs/troubleshooting.md')
    const [, item = ''] = /^- Without one: ([\s\S]*?)\n\n/m.exec(page) ?? []
    const tables = [...item.matchAll(/`(\w+)`/g)].map(([, name]) => `training.${name}`)
    expect(tables).toContain('training.fit_records')
    const rich = join(rig.dataDir, 'rich.fit')
    await writeFile(rich, makeRichFit())
    expect(await rig.musette(['upload', rich])).toMatchObject({ code: 0 })
    const path = await findPath('sample_count > 0')
    await rig.steer('PATCH', `activities/${path}`, { sample: { unheard_of: 1 } })
    expect(await rig.musette(['resync', path])).toMatchObject({ code: 0 })
    const read = () =>
      Promise.all(
        tables.map((name) => rig.rows(`select (t.*)::text as row from ${name} t order by (t.*)::text`)),
      )
    const before = await read()
    expect(before.filter((rows) => rows.length === 0)).toEqual([])
    const [, command = ''] = /musette sql --write "(truncate \S+)"/.exec(page) ?? []
    for (const name of tables) await rig.rows(command.replace('training.samples', name))
    expect((await read()).flat()).toEqual([])
    expect(await rig.musette(['rebuild'])).toMatchObject({ code: 0 })
    expect(await read()).toEqual(before)
  })

  it('tries the receiver of messages that were given up', async () => {
    const receiver = await openForTest(openReceiver())
    const path = join(rig.dataDir, 'webhooks.json')
    const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
    const hooks = [{ name: 'phone', style: 'standard', url: receiver.url, secret }]
    await writeFile(path, JSON.stringify(hooks), { mode: 0o600 })
    await rig.rows(
      `insert into musette.webhooks (name, change_id) values ('phone', 0);
       insert into musette.webhook_messages (webhook, event, occurred_at, data, state, ended_at)
       values ('phone', 'test', now(), '{}', 'given_up', now())`,
    )
    const env = { ...rig.env, MUSETTE_WEBHOOKS: path }
    const [finding] = (await doctor(rig, env)).of('webhooks')
    expect(finding?.state).toBe('problem')
    expect(await typeVerb('musette webhook', finding?.run, { env })).toMatchObject({ code: 0 })
    expect(receiver.received).toHaveLength(1)
  })

  it.runIf(process.getuid?.() === 0)('shows the room on a disk that is full', async () => {
    const disk = join(rig.dataDir, 'full disk')
    await mkdir(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk])
    try {
      const [variable = 'MUSETTE_DROP_DIR'] = (await loadStates(FEATURES)).flatMap(
        ({ folder }) => folder?.variable ?? [],
      )
      const find = async () =>
        (await look('disk space', { ...rig.env, [variable]: disk })).find(({ found }) => found.includes(disk))
      const full = await find()
      expect(full).toMatchObject({ state: 'problem', found: expect.stringContaining('make room') })
      expect((await type('df -h', full?.run)).printed).toMatch(/1\.0M .*full disk/)
      execFileSync('mount', ['-o', 'remount,size=1t', disk])
      expect(await find()).toBeUndefined()
    } finally {
      execFileSync('umount', [disk])
    }
  })
})
