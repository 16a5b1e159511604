import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Finished, runNode } from '../kit/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)
const CHANGELOG = '# Changelog\n\n## Pending\n\n- It flies.\n\n## 0.1.0, 2026-01-02\n\n- It walks.\n'

let folder: TempDir
const place = (name: string) => join(folder.path, name)
const read = (name: string) => readFile(place(name), 'utf8')
const git = async (...args: string[]) => (await run('git', args, { cwd: folder.path })).stdout.trim()
const release = (...args: string[]): Promise<Finished> =>
  runNode([place('config/release.mjs'), ...args], { cwd: folder.path, timeoutMs: 100_000 })
const allRead = async () => [
  await read('package.json'),
  await read('package-lock.json'),
  await read('CHANGELOG.md'),
]

/** A repository with the scripts of this one, and a program without libraries whose checks are green. */
beforeEach(async () => {
  folder = await openTempDir('release')
  const { scripts, name, license } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const manifest = {
    name,
    version: '0.1.0',
    license,
    private: true,
    files: ['dist', '!dist/.*', '!dist/release'],
  }
  const lock = { name, version: '0.1.0', lockfileVersion: 3, requires: true, packages: { '': manifest } }
  await mkdir(place('config'))
  await mkdir(place('.ci'))
  for (const file of ['config/release.mjs', 'config/package.mjs', '.gitignore', 'LICENSE'])
    await cp(join(root, file), place(file))
  await writeFile(place('package.json'), `${JSON.stringify({ ...manifest, scripts }, null, 2)}\n`)
  await writeFile(place('package-lock.json'), `${JSON.stringify(lock, null, 2)}\n`)
  await writeFile(place('CHANGELOG.md'), CHANGELOG)
  const build =
    "import { mkdirSync, writeFileSync } from 'node:fs'\nmkdirSync('dist', { recursive: true })\nwriteFileSync('dist/main.js', '')\n"
  await writeFile(place('config/setup.mjs'), build)
  await writeChecks('exit 0')
  await git('init', '--quiet', '--initial-branch=main')
  await git('config', 'user.name', 'rider')
  await git('config', 'user.email', 'rider@example.com')
  await commit()
})
afterEach(() => folder.close())

async function writeChecks(script: string): Promise<void> {
  await writeFile(place('.ci/run'), `#!/bin/sh\n${script}\n`)
  await chmod(place('.ci/run'), 0o755)
}

async function commit(): Promise<void> {
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'as it is')
}

describe('a release', () => {
  it('writes version and section, commits, tags, and makes tarball, SBOM and checksums', async () => {
    const { code, stderr } = await release('1.2.0')
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('git push --follow-tags'),
    })
    const today = new Date().toISOString().slice(0, 4)
    expect(await read('CHANGELOG.md')).toMatch(
      new RegExp(
        `^# Changelog\n\n## 1\\.2\\.0, ${today}-\\d\\d-\\d\\d\n\n- It flies\\.\n\n## 0\\.1\\.0, 2026-01-02\n`,
      ),
    )
    expect(JSON.parse(await read('package.json'))).toMatchObject({ version: '1.2.0' })
    expect(JSON.parse(await read('package-lock.json'))).toMatchObject({
      version: '1.2.0',
      packages: { '': { version: '1.2.0' } },
    })
    expect(await git('status', '--porcelain')).toBe('')
    expect(await git('log', '-1', '--format=%s', 'v1.2.0')).toBe('release 1.2.0')
    expect(await git('tag', '--list', '--format=%(contents)', 'v1.2.0')).toBe('musette 1.2.0\n\n- It flies.')
    const files = ['SHA256SUMS', 'musette-1.2.0.cdx.json', 'musette-1.2.0.tgz']
    expect((await readdir(place('dist/release'))).sort()).toEqual(files)
    const sum = createHash('sha256').update(await readFile(place('dist/release/musette-1.2.0.tgz')))
    expect(await read('dist/release/SHA256SUMS')).toContain(`${sum.digest('hex')}  musette-1.2.0.tgz\n`)
    expect(JSON.parse(await read('dist/release/musette-1.2.0.cdx.json'))).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { version: '1.2.0' } },
    })
    const packed = await run('tar', [
      '-xzOf',
      place('dist/release/musette-1.2.0.tgz'),
      'package/package.json',
    ])
    expect(JSON.parse(packed.stdout)).toMatchObject({ version: '1.2.0', private: true })
  }, 120_000)

  it('with --dry-run makes the files, and neither commit nor tag nor any other change', async () => {
    const [before, head] = [await allRead(), await git('rev-parse', 'HEAD')]
    const { code, stderr } = await release('1.2.0', '--dry-run')
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('can be released') })
    expect(await readdir(place('dist/release'))).toContain('musette-1.2.0.tgz')
    expect(await allRead()).toEqual(before)
    expect([await git('rev-parse', 'HEAD'), await git('tag'), await git('status', '--porcelain')]).toEqual([
      head,
      '',
      '',
    ])
  }, 120_000)

  it('refuses changes that are not committed', async () => {
    await writeFile(place('LICENSE'), 'mine')
    const { code, stderr } = await release('1.2.0')
    expect(stderr).toContain('there are changes that are not committed; commit or remove them:\n M LICENSE')
    expect(code).toBe(1)
  })

  it('refuses after a failed check, and names it', async () => {
    await writeChecks('echo the third test fails; exit 1')
    await commit()
    const { code, stderr } = await release('1.2.0')
    expect(stderr).toContain('a check is red; mend it first:\nthe third test fails')
    expect({ code, tags: await git('tag') }).toEqual({ code: 1, tags: '' })
  })

  it('refuses an invalid or existing version, and a changelog with nothing new', async () => {
    expect((await release('next')).stderr).toContain('name the version')
    await git('tag', 'v1.2.0')
    expect((await release('1.2.0')).stderr).toContain('v1.2.0 is there already')
    await writeFile(place('CHANGELOG.md'), CHANGELOG.replace('- It flies.\n\n', ''))
    await commit()
    const { code, stderr } = await release('1.3.0')
    expect(stderr).toContain('CHANGELOG.md has nothing under "## Pending"')
    expect(code).toBe(1)
  })

  it('changes nothing when the tarball cannot be made', async () => {
    await writeFile(place('config/setup.mjs'), "throw new Error('it does not compile')\n")
    await commit()
    const before = await allRead()
    const { code, stderr } = await release('1.2.0')
    expect(stderr).toContain('the tarball was not made')
    expect(stderr).toContain('it does not compile')
    expect({ code, tags: await git('tag'), changed: await git('status', '--porcelain') }).toEqual({
      code: 1,
      tags: '',
      changed: '',
    })
    expect(await allRead()).toEqual(before)
  }, 120_000)
})
