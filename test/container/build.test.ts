import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { eventually } from '../kit/eventually.ts'
import { openForTest } from '../kit/open-for.ts'
import { queryOnce } from '../kit/postgres.ts'
import { runNode, startNode } from '../kit/processes.ts'
import { openOwnRedis } from '../kit/redis.ts'
import { whole } from '../kit/sampling.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { openCliRig } from '../program/cli/rig.ts'
import { buildImage, whatKeepsFromBuilding } from './build-image.ts'
import { parseDockerfile, readTop } from './dockerfile.ts'

const WITHIN_MS = 1_200_000

// A build takes minutes, so only a run with WHOLE=1 makes an image; image.test.ts runs the image's files in every run.
it.runIf(whole)(
  'the built image is healthy and mirrors as user 1000, read-only and without capabilities',
  async () => {
    const missing = whatKeepsFromBuilding()
    if (missing !== undefined) throw new Error(`the image cannot be built here; ${missing}`)
    const rig = await openForTest(openCliRig({ activities: 3, migrated: false }))
    const redis = await openForTest(openOwnRedis())
    const folder = await openForTest(openTempDir('built'))
    const image = await buildImage(folder.path, parseDockerfile(readTop('Dockerfile'))[0]?.from ?? '')
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
    const { User, Entrypoint, Cmd, Env } = image.config
    expect(User).toBe('1000:1000')
    const sbom = JSON.parse(await readFile(join(image.root, 'app/sbom.cdx.json'), 'utf8'))
    expect(sbom.metadata.component.name).toBe(manifest.name)
    expect(await readdir(join(image.root, 'app/drizzle'))).not.toContain('structure')
    const script = fileURLToPath(new URL('run-image.sh', import.meta.url))
    const options = {
      prefix: ['unshare', '--mount', 'sh', script, image.root, data, secrets],
      timeoutMs: WITHIN_MS,
      env: {
        ...Object.fromEntries(Env.map((line) => line.split(/=(.*)/s).slice(0, 2))),
        MUSETTE_BASE_URL: rig.sandboxUrl,
        DATABASE_URL_FILE: '/run/secrets/database_url',
        REDIS_URL_FILE: '/run/secrets/redis_url',
        MUSETTE_HTTP_TOKEN_FILE: '/run/secrets/http_token',
        MUSETTE_HTTP: '0.0.0.0:0',
      },
    }
    const run = (args: readonly string[], more: object = {}) =>
      runNode([...Entrypoint, ...args], { ...options, ...more })
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${manifest.version}\n` })
    const login = await run(['login', '--username', 'rider', '--password-stdin'], { input: 'rider' })
    expect(login).toMatchObject({ code: 0 })
    const daemon = startNode([...Entrypoint, ...Cmd], options)
    onTestFinished(async () => void (await daemon.kill('SIGKILL')))
    const { port } = new URL(JSON.parse(await daemon.waitForLine(/"msg":"started"/, 60_000)).url)
    const waiting = `select from training.activities having count(*) filter (where detail_state = 'mirrored') = 3`
    await eventually(async () => (await queryOnce(rig.databaseUrl, waiting)).length > 0)
    const env = { ...options.env, MUSETTE_HTTP: `0.0.0.0:${port}` }
    await eventually(async () => (await run(['healthcheck'], { env })).code === 0, { what: 'health' })
    expect(await daemon.kill('SIGTERM')).toMatchObject({ code: 0, signal: null })
  },
  WITHIN_MS,
)
