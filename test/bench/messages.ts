import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { eventually } from '../kit/eventually.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { openReceiver } from '../kit/receiver.ts'
import { steer } from '../kit/steer.ts'
import { openSandboxBench, quantile, type Row } from './rig.ts'

const ACTIVITIES = 100
const LOGINS = 10

/** Measures how long after it was recorded a new activity, and a lost login, reach a receiver on this machine. */
export async function benchMessages(release: ReleaseStack): Promise<Row[]> {
  const receiver = await openReceiver()
  release.defer('receiver', () => receiver.close())
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const { sandbox, client, folder, ...bench } = await openSandboxBench(release)
  const file = join(folder, 'webhooks.json')
  await writeFile(file, JSON.stringify([{ name: 'home', style: 'standard', url: receiver.url, secret }]), {
    mode: 0o600,
  })
  const env = {
    ...bench.env,
    MUSETTE_POLL_EVERY: '1s',
    MUSETTE_LAG: '1s',
    MUSETTE_HTTP: 'off',
    MUSETTE_WEBHOOKS: file,
  }
  const daemon = startNode([distPath('main.js'), 'start'], { env })
  release.defer('daemon', () => daemon.kill())

  const find = (event: string, count: number) =>
    eventually(
      () => {
        const found = receiver.received.filter(({ text }) => JSON.parse(text).type === event)
        return found.length >= count && found
      },
      { timeoutMs: 120_000, what: `${count} messages ${event}` },
    )
  const recordedAt = async (kind: string) => {
    const { rows } = await client.query(
      `select extract(epoch from at)::float8 * 1000 as at, path from training.changes where kind = $1 order by change_id`,
      [kind],
    )
    return rows as Array<{ at: number; path: string }>
  }

  await eventually(async () => {
    const { rows } = await client.query(
      `select count(*)::int as n from training.activities where detail_state = 'mirrored'`,
    )
    return rows[0].n === 10
  })
  for (let made = 0; made < ACTIVITIES; made += 1) {
    // Those of the last ten minutes would be gathered into one message.
    await client.query(`update training.activities set first_seen_at = first_seen_at - interval '1 hour'`)
    await steer(sandbox.url, 'POST', 'activities', { name: 'New', seconds: 300 })
    await find('activity.new', made + 1)
  }
  const mirrored = new Map((await recordedAt('activity.samples')).map(({ path, at }) => [path, at]))
  const activities = (await find('activity.new', ACTIVITIES)).map(
    ({ text, at }) => at - (mirrored.get(JSON.parse(text).data.path) ?? Number.NaN),
  )

  const revoked: number[] = []
  for (let made = 0; made < LOGINS; made += 1) {
    await steer(sandbox.url, 'POST', 'tokens/revoke')
    revoked.push(Date.now())
    await find('login.lost', made + 1)
    await bench.signIn()
    await pause(1_000)
  }
  const lost = await recordedAt('login.lost')
  const messages = await find('login.lost', LOGINS)
  return [
    [`from mirrored to delivered, ${ACTIVITIES} activities, p50`, seconds(activities, 0.5)],
    ['the same, p95', seconds(activities, 0.95), '5 s at most'],
    [
      `from the row of a lost login to its message, ${LOGINS} logins, longest`,
      seconds(
        messages.map(({ at }, index) => at - (lost[index]?.at ?? Number.NaN)),
        1,
      ),
      '60 s at most',
    ],
    [
      'from its end at the service, polled each second, longest',
      seconds(
        messages.map(({ at }, index) => at - (revoked[index] ?? Number.NaN)),
        1,
      ),
    ],
  ]
}

function seconds(ms: readonly number[], share: number): string {
  return `${(quantile(ms, share) / 1_000).toFixed(2)} s`
}
