import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { findBinary } from '../kit/binaries.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Cached beside npm's own caches: the base is the same for every build and takes a minute and a half. */
const cache = join(root, 'node_modules/.cache/musette-image')
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const STORED = 'vfs'
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'

const settings = z.object({
  OCIv1: z.object({
    config: z.object({
      User: z.string(),
      Env: z.array(z.string()),
      Entrypoint: z.array(z.string()),
      Cmd: z.array(z.string()),
    }),
  }),
})
export type Image = { root: string; config: z.output<typeof settings>['OCIv1']['config'] }

/** Returns what is missing to build an image here; undefined if nothing is. */
export function whatKeepsFromBuilding(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'it takes root on Linux'
  const missing = ['buildah', 'debootstrap', 'setpriv', 'unshare'].filter((name) => !findBinary([name]))
  return missing.length > 0 ? `run: apt-get install ${missing.join(' ')}` : undefined
}

/** Builds the Dockerfile below `folder`, with the context that .dockerignore leaves, and returns the image's root. */
export async function buildImage(folder: string, from: string): Promise<Image> {
  const buildah = async (...args: string[]) => {
    const places = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
    return (await run('buildah', [...places, '--storage-driver', STORED, ...args])).trim()
  }
  const base = await buildah('from', 'scratch')
  await buildah('add', '--quiet', base, await makeBase(from), '/')
  await buildah('config', '--env', `PATH=${PATH}`, base)
  await buildah('commit', '--quiet', '--rm', base, `localhost/${from}`)
  const npmrc = join(folder, 'npmrc')
  await writeFile(npmrc, await readNpmSettings(), { mode: 0o600 })
  const certificates = process.env.NODE_EXTRA_CA_CERTS ?? CERTIFICATES
  const cached = (await run('npm', ['config', 'get', 'cache'])).trim()
  await mkdir(cached, { recursive: true })
  // Mounted, not copied, so that no layer contains this machine's npm settings and cache. npm looks into the cache first.
  const volumes = [`${npmrc}:/root/.npmrc:ro`, `${certificates}:${CERTIFICATES}:ro`, `${cached}:/root/.npm`]
  const mounted = volumes.flatMap((volume) => ['--volume', volume])
  const how = ['--isolation', 'chroot', '--pull-never', '--layers=false', ...mounted]
  await buildah('build', ...how, '--tag', 'localhost/musette', root)
  const built = await buildah('from', '--pull-never', 'localhost/musette')
  const { OCIv1 } = settings.parse(
    JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/musette')),
  )
  return { root: await buildah('mount', built), config: OCIv1.config }
}

/**
 * Makes the base image of FROM (`node:MAJOR-SUITE-slim`) as an archive, from Debian's packages and npm's package of that Node. The packages
 * are unpacked but not configured, which halves the time: the programs are the same, and only the users of the configuration are needed.
 */
async function makeBase(from: string): Promise<string> {
  const archive = join(cache, `${from.replace(':', '-')}.tar`)
  if (await readFile(`${archive}.whole`).catch(() => undefined)) return archive
  const [, major = '', suite = ''] = /^node:(\d+)-(\w+)-slim$/.exec(from) ?? []
  const base = join(cache, 'base')
  await rm(cache, { recursive: true, force: true })
  await mkdir(cache, { recursive: true })
  await run('debootstrap', ['--foreign', '--variant=minbase', suite, base])
  for (const name of ['passwd', 'group'])
    await cp(join(base, 'usr/share/base-passwd', `${name}.master`), join(base, 'etc', name))
  // /proc of this machine is mounted there. Nothing reads the rest, but each layer would copy it.
  for (const name of [
    'proc',
    'debootstrap',
    'var/cache/apt',
    'usr/share/doc',
    'usr/share/locale',
    'usr/share/man',
  ])
    await rm(join(base, name), { recursive: true, force: true })
  await mkdir(join(base, 'proc'))
  const node = `node-linux-${process.arch}`
  await run('npm', ['install', '--prefix', cache, '--no-save', '--silent', `${node}@${major}`])
  const npm = join(base, 'usr/local/lib/node_modules/npm')
  await cp(join(cache, 'node_modules', node, 'bin/node'), join(base, 'usr/local/bin/node'))
  await cp(join((await run('npm', ['root', '--global'])).trim(), 'npm'), npm, { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/local/bin/npm'))
  await run('tar', ['-C', base, '-cf', `${archive}.part`, '.'])
  await rename(`${archive}.part`, archive)
  await writeFile(`${archive}.whole`, 'yes\n')
  await rm(base, { recursive: true })
  return archive
}

/** Reads this machine's npm settings: the registry of its packages and the way to it. */
async function readNpmSettings(): Promise<string> {
  const read = async (name: string) => {
    const path = (await run('npm', ['config', 'get', name])).trim()
    return await readFile(path, 'utf8').catch(() => '')
  }
  const lines = [await read('globalconfig'), await read('userconfig')]
  return [
    ...lines,
    `registry=${(await run('npm', ['config', 'get', 'registry'])).trim()}`,
    'prefer-offline=true',
    '',
  ].join('\n')
}

/** A build may take minutes on a busy machine. */
const WITHIN_MS = 900_000

async function run(command: string, args: readonly string[]): Promise<string> {
  const options = { timeout: WITHIN_MS, maxBuffer: 50_000_000, cwd: '/' }
  return (await promisify(execFile)(command, args, options)).stdout
}
