import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../kit/eventually.ts'
import { queryOnce } from '../kit/postgres.ts'
import { runNode, startNode } from '../kit/processes.ts'
import { openOwnRedis } from '../kit/redis.ts'
import type { RedisServer } from '../kit/redis-server.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'
import { type CliRig, openCliRig } from '../program/cli/rig.ts'
import { buildImage, type Image, whatKeepsFromBuilding } from './build-image.ts'
import { parseDockerfile, readTop } from './dockerfile.ts'

const WITHIN_MS = 1_200_000
const missing = whatKeepsFromBuilding()
const leftOut = missing !== undefined && !process.env.CI

let rig: CliRig
let redis: RedisServer
let folder: TempDir
let image: Image
let options: { env: Record<string, string>; prefix: readonly string[] }
let stop: () => Promise<unknown> = async () => undefined

describe.skipIf(leftOut)(`the image, built${leftOut ? ` (left out: ${missing})` : ''}`, () => {
  beforeAll(async () => {
    if (missing !== undefined) throw new Error(`the image cannot be built here; ${missing}`)
    rig = await openCliRig({ activities: 3, migrated: false })
    redis = await openOwnRedis()
    folder = await openTempDir('built')
    image = await buildImage(folder.path, parseDockerfile(readTop('Dockerfile'))[0]?.from ?? '')
    const [data, secrets] = [join(folder.path, 'data'), join(folder.path, 'secrets')]
    for (const path of [data, secrets]) await mkdir(path)
    await chown(data, 1000, 1000)
    const password = randomBytes(24).toString('hex')
    const server = new Redis(redis.url)
    await server.config('SET', 'requirepass', password)
    server.disconnect()
    const texts = {
      database_url: rig.databaseUrl,
      redis_url: redis.url.replace('//', `//:${password}@`),
      http_token: randomBytes(24).toString('hex'),
    }
    for (const [name, text] of Object.entries(texts)) await writeFile(join(secrets, name), `${text}\n`)
    await chmod(secrets, 0o755)
    const ofImage = image.config.Env.map((line) => line.split(/=(.*)/s).slice(0, 2))
    const script = fileURLToPath(new URL('run-image.sh', import.meta.url))
    options = {
      prefix: ['unshare', '--mount', 'sh', script, image.root, data, secrets],
      env: {
        ...Object.fromEntries(ofImage),
        MUSETTE_BASE_URL: rig.sandboxUrl,
        DATABASE_URL_FILE: '/run/secrets/database_url',
        REDIS_URL_FILE: '/run/secrets/redis_url',
        MUSETTE_HTTP_TOKEN_FILE: '/run/secrets/http_token',
        MUSETTE_HTTP: '0.0.0.0:0',
      },
    }
  }, WITHIN_MS)
  afterAll(async () => {
    await stop()
    await redis?.close()
    await rig?.close()
    await folder?.close()
  }, WITHIN_MS)

  const run = (args: readonly string[], more: object = {}) =>
    runNode(args, { ...options, ...more, timeoutMs: WITHIN_MS })

  it('says its version as user 1000, with no capability, on a root that cannot be written', async () => {
    expect(image.config).toMatchObject({ User: '1000:1000', Entrypoint: ['musette'], Cmd: ['start'] })
    const { version } = JSON.parse(readTop('package.json')) as { version: string }
    expect(await run([...image.config.Entrypoint, '--version'])).toMatchObject({
      code: 0,
      stdout: `${version}\n`,
    })
    const looked = await run([
      'sh',
      '-c',
      'id -u; grep -c "^Cap.*: *\t0*$" /proc/self/status; touch /app/file',
    ])
    expect(looked).toMatchObject({ stdout: '1000\n5\n', stderr: expect.stringContaining('Read-only') })
  })

  it('starts with Postgres, a Redis that has a password and secrets from files, is healthy, and mirrors', async () => {
    const { Entrypoint, Cmd } = image.config
    expect(await run([...Entrypoint, 'migrate'])).toMatchObject({ code: 0 })
    const login = await run([...Entrypoint, 'login', '--username', 'rider', '--password-stdin'], {
      input: 'rider',
    })
    expect(login).toMatchObject({ code: 0 })
    const daemon = startNode([...Entrypoint, ...Cmd], options)
    stop = () => daemon.kill('SIGKILL')
    const { url } = JSON.parse(await daemon.waitForLine(/"msg":"started"/, 60_000)) as { url: string }
    const env = { ...options.env, MUSETTE_HTTP: `0.0.0.0:${new URL(url).port}` }
    const healthcheck = () => run([...Entrypoint, 'healthcheck'], { env })
    await eventually(async () => {
      const rows = await queryOnce(rig.databaseUrl, 'select detail_state from training.activities')
      return rows.length === 3 && rows.every((row) => row.detail_state === 'mirrored')
    })
    await eventually(async () => (await healthcheck()).code === 0, { what: 'health' })
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
  })
})
