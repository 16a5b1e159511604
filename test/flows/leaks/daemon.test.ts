import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import { openForAll } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { makeRide } from '../../kit/ride.ts'
import { DATA, ECHOES, TOKEN, unauthorized } from './hostile.ts'
import { findLeaks, SECRETS } from './marked.ts'
import { openLeakRig } from './rig.ts'

const rig = openForAll(openLeakRig)
beforeAll(async () => expect(await rig.signIn()).toMatchObject({ code: 0 }))

async function expectNoLeak(text: string): Promise<void> {
  expect(findLeaks(text, await rig.tokens())).toEqual([])
}

/** Expects no secret where somebody may look: beside the files, in tables, in the queue. */
async function expectNothingLeft(): Promise<void> {
  const [database, files] = [await readDatabase(rig.databaseUrl), await readFiles(rig.dataDir)]
  expect(database).toContain('training.uploads')
  expect(files).toContain('not uploaded')
  await expectNoLeak(database + files)
}

describe.each(['postgres', 'redis'])('no secret leaks from a daemon with its queue in %s', (queue) => {
  it('while the service repeats every secret in its responses', async ({ skip }) => {
    if (queue === 'redis' && !rig.redisUrl) skip('redis-server is not installed')
    rig.hostile.become([])
    await queryOnce(rig.databaseUrl, 'truncate training.uploads cascade')
    expect(await rig.signIn()).toMatchObject({ code: 0 })
    const daemon = rig.start(queue === 'redis' && rig.redisUrl ? { REDIS_URL: rig.redisUrl } : {})
    try {
      const started = JSON.parse(await daemon.waitForLine(/"msg":"started"/)) as { url: string }
      const drop = join(rig.dataDir, 'drop')
      await mkdir(drop, { recursive: true })
      rig.hostile.become([{ path: DATA, echo: ECHOES.refusal }])
      await writeFile(join(drop, `${queue}.fit`), makeRide({ seed: queue.length }))
      await daemon.waitForLine(/file not uploaded/)
      rig.hostile.become([
        { path: TOKEN, echo: ECHOES.endedGrant },
        { path: DATA, echo: unauthorized },
      ])
      await writeFile(join(drop, `${queue}-2.fit`), makeRide({ seed: 90 + queue.length }))
      await daemon.waitForLine(/run: musette login/)
      await expectNoLeak(await lookAround(started.url))
      await eventually(async () => (await readFiles(drop)).includes('not uploaded'))
    } finally {
      await daemon.kill('SIGTERM')
    }
    await expectNoLeak(daemon.stdout() + daemon.stderr())
    expect(daemon.stderr()).toContain('"level":20')
    await expectNothingLeft()
    if (queue === 'postgres' || !rig.redisUrl) return
    const jobs = await readRedis(rig.redisUrl)
    expect(jobs).toContain('poll-activities')
    await expectNoLeak(jobs)
  }, 120_000)
})

/** Returns the content of every page and URL, with the token, without it, and with a wrong one. */
async function lookAround(url: string): Promise<string> {
  const paths = ['/', '/metrics', '/readyz', '/healthz', '/api/today', '/api/runs', '/login', '/none']
  const texts: string[] = []
  for (const authorization of [`Bearer ${SECRETS.httpToken}`, 'Bearer wrong', '']) {
    for (const path of paths) {
      const headers: Record<string, string> = authorization ? { authorization } : {}
      const answer = await fetch(`${url}${path}`, { headers, redirect: 'manual' })
      texts.push(`${path} ${answer.status} ${[...answer.headers].join()} ${await answer.text()}`)
    }
  }
  const body = new URLSearchParams({ token: SECRETS.wrongPassword })
  const refused = await fetch(`${url}/login`, { method: 'POST', body, redirect: 'manual' })
  return `${texts.join('\n')}\n${[...refused.headers].join()} ${await refused.text()}`
}

it('a key rotation shows no key', async () => {
  const file = join(rig.dataDir, 'secret.key.next')
  const end = await rig.musette(['key', 'rotate', '--to', file])
  expect(end).toMatchObject({ code: 0 })
  await expectNoLeak(rig.said())
  expect(findLeaks(rig.said(), [(await readFile(file, 'utf8')).trim()])).toEqual([])
  await expectNothingLeft()
})

/** Reads the whole database as text: the tables of analysts, the queue, and the sealed logins. */
async function readDatabase(url: string): Promise<string> {
  const tables = await queryOnce(
    url,
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('training', 'musette', 'bullmq') and c.relkind in ('r', 'v', 'm', 'p')`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await queryOnce(url, `select (t.*)::text as row from ${name} t limit 20000`)
    texts.push(`${name}: ${rows.map(({ row }) => row).join('\n')}`)
  }
  return texts.join('\n')
}

const READS: Readonly<Record<string, readonly [command: string, ...rest: string[]]>> = {
  ...{ hash: ['hgetall'], set: ['smembers'], string: ['get'] },
  ...{ list: ['lrange', '0', '-1'], zset: ['zrange', '0', '-1'], stream: ['xrange', '-', '+'] },
}

async function readRedis(url: string): Promise<string> {
  const redis = new Redis(url)
  try {
    const texts: string[] = []
    for (const key of await redis.keys('*')) {
      const [command, ...rest] = READS[await redis.type(key)] ?? ['get']
      texts.push(`${key}: ${JSON.stringify(await redis.call(command, key, ...rest))}`)
    }
    return texts.join('\n')
  } finally {
    redis.disconnect()
  }
}

/** Reads every file below a folder as latin1 text; for key files only the names. */
async function readFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const texts: string[] = []
  for (const entry of entries.filter((one) => one.isFile())) {
    const isKey = entry.name.startsWith('secret.key')
    const text = isKey ? '' : await readFile(join(entry.parentPath, entry.name), 'latin1')
    texts.push(`${entry.name}: ${text}`)
  }
  return texts.join('\n')
}
