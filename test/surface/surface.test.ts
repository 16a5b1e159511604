import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findAccountHealth } from '../../src/core/store/account-status.ts'
import { findDeviceFacts } from '../../src/features/mqtt/device-facts.ts'
import { openRig } from '../core/mirror/rig.ts'
import { openForAll } from '../kit/open-for.ts'
import { queryOnce } from '../kit/postgres.ts'
import { openReceiver } from '../kit/receiver.ts'
import { makeRide } from '../kit/ride.ts'
import { runVerb } from '../kit/verbs.ts'
import { describeChanges, describeDatabase } from './describe-database.ts'
import { describeMetrics, describeMqtt, describeWebhooks } from './describe-messages.ts'
import { describeProgram } from './describe-program.ts'
import { describeShape, itemsOf } from './shape.ts'

const rig = openForAll(() => openRig({ activities: 2, longestActivitySeconds: 300 }))

/** Each verb with --json, after what it finds; its files are in the data directory. */
const WITH_JSON: ReadonlyArray<
  [line: string, before?: string | undefined, settings?: Record<string, string>]
> = [
  ['sync --json'],
  ['resync --since 2000-01-01 --json'],
  ['rebuild --json'],
  ['attach ride.fit letter.fit --json'],
  ['verify --all --json', 'update training.activities set xss = 1.5 where activity_id = 1'],
  ['accounts --json'],
  [
    'status --json',
    `update training.activities set detail_state = 'failed', fetch_error = 'cut' where activity_id = 1`,
    { MUSETTE_BACKUP_DIR: 'backups', MUSETTE_MQTT_URL: 'mqtt://127.0.0.1:9' },
  ],
  ['doctor --json', undefined, { MUSETTE_LAG: 'long' }],
  ['config --json', undefined, { MUSETTE_LAG: 'long' }],
  ['workout list --json'],
  ['changes --json'],
  ['sql --json values(1,null,true)'],
  ['webhook test --json'],
  ['migrate --plan --json'],
]

async function describeJson(): Promise<string> {
  const receiver = await openReceiver()
  try {
    const webhooks = [{ name: 'home', style: 'ntfy', url: `${receiver.url}/topic` }]
    await writeFile(join(rig.dataDir, 'webhooks.json'), JSON.stringify(webhooks), { mode: 0o600 })
    await writeFile(join(rig.dataDir, 'ride.fit'), makeRide())
    await writeFile(join(rig.dataDir, 'letter.fit'), 'no ride at all, but a letter to a friend')
    await runLine('upload ride.fit letter.fit')
    const parts: string[] = []
    for (const [line, before, settings] of WITH_JSON) {
      if (before !== undefined) await queryOnce(rig.databaseUrl, before)
      const { code, stdout, stderr } = await runLine(line, settings)
      if (stdout === '') throw new Error(`musette ${line}: ${stderr}`)
      const values = stdout
        .trimEnd()
        .split('\n')
        .map((text) => JSON.parse(text) as unknown)
      parts.push(
        `musette ${line} ends with ${code} and prints ${[...new Set(values.map(kindOf))].join(', ')}:`,
      )
      parts.push(...describeShape(values.flatMap(itemsOf).map(withoutDetail), '  '), '')
    }
    return parts.join('\n')
  } finally {
    await receiver.close()
  }
}

const kindOf = (value: unknown) => (Array.isArray(value) ? 'a list' : 'an object a line')

/** Leaves out the values of a change: they are described for each kind. */
function withoutDetail(value: unknown): unknown {
  const isChange = typeof value === 'object' && value !== null && 'detail' in value
  return isChange ? { ...value, detail: {} } : value
}

function runLine(line: string, settings: Record<string, string> = {}) {
  const env = {
    DATABASE_URL: rig.databaseUrl,
    MUSETTE_BASE_URL: rig.sandboxUrl,
    MUSETTE_DATA_DIR: rig.dataDir,
    MUSETTE_REQUESTS_PER_MINUTE: '100000',
    MUSETTE_HTTP: '127.0.0.1:0',
    MUSETTE_WEBHOOKS: join(rig.dataDir, 'webhooks.json'),
  }
  return runVerb(line.split(' '), { cwd: rig.dataDir, env: { ...env, ...settings } })
}

async function describeState(): Promise<string> {
  const { account, app } = rig
  const facts = await app.store.read(async (tx) => {
    const [health] = await findAccountHealth(tx)
    return findDeviceFacts(tx, { account, health, backupAt: new Date(0) })
  })
  return describeShape([facts]).join('\n')
}

it('the surface is what surface.txt says; where it changes on purpose, run: npx vitest run --config config/vitest.config.ts test/surface -u', async (context) => {
  const [server] = await queryOnce(rig.databaseUrl, 'show server_version_num')
  const isEighteen = Math.floor(Number(server?.server_version_num) / 10_000) === 18
  if (!isEighteen) context.skip('the definitions of views are as Postgres 18 writes them')
  const json = await describeJson()
  const parts = [
    describeProgram(),
    `# answers of --json: keys and types\n\n${json}`,
    `# messages of the webhooks\n\n${describeWebhooks()}`,
    `# metrics\n\n${await describeMetrics()}`,
    `# MQTT\n\n${describeMqtt()}\n\nstates:\n${await describeState()}`,
    `# change feed: kinds, and the keys of detail\n\n${await describeChanges(rig.databaseUrl)}`,
    `# database\n\n${await describeDatabase(rig.databaseUrl)}`,
  ]
  const text = parts.map((part) => part.trimEnd()).join('\n\n\n')
  await expect(`${text}\n`).toMatchFileSnapshot('./surface.txt')
})
