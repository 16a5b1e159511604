import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { readTop } from '../container/dockerfile.ts'
import { type Finished, runNode } from '../kit/processes.ts'
import { openTempDir, type TempDir } from '../kit/temp-dir.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)
const CHANGELOG = '# Changelog\n\n## Pending\n\n- It flies.\n\n## 0.1.0, 2026-01-02\n\n- It walks.\n'
const BUILD = `import { mkdirSync, writeFileSync } from 'node:fs'
mkdirSync('dist', { recursive: true })
writeFileSync('dist/main.js', '')
writeFileSync('dist/.libraries.json', '[]')\n`
const GREEN = '#!/bin/sh\nexit 0\n'

let folder: TempDir
const place = (name: string) => join(folder.path, name)
const read = (name: string) => readFile(place(name), 'utf8')
const git = async (...args: string[]) => (await run('git', args, { cwd: folder.path })).stdout.trim()
const release = (...args: string[]): Promise<Finished> =>
  // In a separate process group, which Ctrl-C ends.
  runNode([place('config/release.mjs'), ...args], {
    cwd: folder.path,
    timeoutMs: 100_000,
    prefix: ['setsid', '--wait'],
  })
async function commit(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(place(name), text)
  await git('add', '--all')
  await git('commit', '--quiet', '--allow-empty', '--message', 'as it is')
}
/** Reads the state that a refused or trial release must not change. */
const state = async () => [
  ...(await Promise.all(['package.json', 'package-lock.json', 'CHANGELOG.md'].map(read))),
  ...[await git('rev-parse', 'HEAD'), await git('status', '--porcelain'), await git('tag')],
]

/** A repository with the scripts of this one, and a program without libraries whose checks pass. */
beforeAll(async () => {
  folder = await openTempDir('release')
  const { scripts, name, license } = manifest
  const files = ['dist', '!dist/.*', '!dist/release']
  const own = { name, version: '0.1.0', license, private: true, files }
  const lock = { name, version: '0.1.0', lockfileVersion: 3, requires: true, packages: { '': own } }
  for (const name of ['config', '.ci']) await mkdir(place(name))
  for (const file of ['config/release.mjs', 'config/package.mjs', 'config/sbom.mjs', '.gitignore', 'LICENSE'])
    await cp(join(root, file), place(file))
  await writeFile(place('.ci/run'), GREEN)
  await chmod(place('.ci/run'), 0o755)
  await git('init', '--quiet', '--initial-branch=main')
  await git('config', 'user.name', 'rider')
  await git('config', 'user.email', 'rider@example.com')
  await commit({
    'package.json': `${JSON.stringify({ ...own, scripts }, null, 2)}\n`,
    'package-lock.json': `${JSON.stringify(lock, null, 2)}\n`,
    'CHANGELOG.md': CHANGELOG,
    'config/setup.mjs': BUILD,
  })
})
afterAll(() => folder.close())

describe('a release', () => {
  const empty = CHANGELOG.replace('- It flies.\n\n', '')
  const red = '#!/bin/sh\necho the third test fails; exit 1\n'
  const broken = "throw new Error('it does not compile')\n"
  const ended = `${readTop('config/package.mjs')}\nif (process.argv[2] === 'begin') process.kill(0, 'SIGINT')\n`
  it.each([
    ['an invalid version', 'LICENSE', 'ours', 'next', 'name the version'],
    ['a version that is lower', 'LICENSE', 'ours', '0.0.9', 'this is 0.1.0; name a higher version'],
    ['nothing new', 'CHANGELOG.md', empty, '1.2.0', 'CHANGELOG.md has nothing under "## Pending"'],
    ['a failed check', '.ci/run', red, '1.2.0', 'a check is red; mend it first:\nthe third test fails'],
    ['a tarball that cannot be made', 'config/setup.mjs', broken, '1.2.0', 'the tarball was not made'],
    ['Ctrl-C while it packs', 'config/package.mjs', ended, '1.2.0', 'the tarball was not made'],
  ])('is refused with the reason for %s, and changes nothing', async (_what, file, text, version, says) => {
    const right = await read(file)
    await commit({ [file]: text })
    const before = await state()
    expect(await release(version)).toMatchObject({ code: 1, stderr: expect.stringContaining(says) })
    expect(await state()).toEqual(before)
    expect(existsSync(place('dist/.package.json'))).toBe(false)
    await commit({ [file]: right })
  })

  it('removes its commit if git tag fails', async () => {
    await git('config', 'gpg.program', 'false')
    await git('config', 'tag.gpgSign', 'true')
    const before = await state()
    expect(await release('1.2.0')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('git tag failed'),
    })
    expect(await state()).toEqual(before)
    await git('config', '--remove-section', 'gpg')
    await git('config', '--remove-section', 'tag')
  })

  it('refuses uncommitted changes', async () => {
    await writeFile(place('LICENSE'), 'mine')
    expect((await release('1.2.0')).stderr).toContain('not committed; commit or remove them:\n M LICENSE')
    await git('checkout', '--quiet', 'LICENSE')
  })

  it('with --dry-run makes the files, but no commit, tag or other change', async () => {
    const before = await state()
    const { code, stderr } = await release('1.2.0', '--dry-run')
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('can be released') })
    expect(await readdir(place('dist/release'))).toContain('musette-1.2.0.tgz')
    expect(await state()).toEqual(before)
  })

  it('writes version and section, commits, tags once, and makes all release files', async () => {
    const { code, stderr } = await release('1.2.0')
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('push --follow-tags') })
    expect(await read('CHANGELOG.md')).toMatch(
      /^# Changelog\n\n## 1\.2\.0, 20\d\d-\d\d-\d\d\n\n- It flies\.\n\n## 0\.1\.0, 2026-01-02\n/,
    )
    const version = '1.2.0'
    expect(JSON.parse(await read('package.json'))).toMatchObject({ version })
    const lock = JSON.parse(await read('package-lock.json'))
    expect(lock).toMatchObject({ version, packages: { '': { version } } })
    expect(await git('status', '--porcelain')).toBe('')
    expect(await git('log', '-1', '--format=%s', 'v1.2.0')).toBe('release 1.2.0')
    expect(await git('tag', '--list', '--format=%(contents)', 'v1.2.0')).toBe('musette 1.2.0\n\n- It flies.')
    const [tarball, sbom] = ['musette-1.2.0.tgz', 'musette-1.2.0.cdx.json']
    expect((await readdir(place('dist/release'))).sort()).toEqual(['SHA256SUMS', sbom, tarball])
    const sum = createHash('sha256').update(await readFile(place(`dist/release/${tarball}`)))
    expect(await read('dist/release/SHA256SUMS')).toContain(`${sum.digest('hex')}  ${tarball}\n`)
    expect(JSON.parse(await read(`dist/release/${sbom}`))).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: manifest.name, version } },
    })
    const packed = await run('tar', ['-xzOf', place(`dist/release/${tarball}`), 'package/package.json'])
    expect(JSON.parse(packed.stdout)).toMatchObject({ version, private: true })
    expect((await release('1.2.0')).stderr).toContain('v1.2.0 is there already')
  })
})
