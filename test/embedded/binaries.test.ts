import { chmod, cp, lstat, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { openBinaries, resolveBinaryPackage } from '../../src/embedded/binaries.ts'
import { detectRunAs } from '../../src/embedded/run-as.ts'
import { modulePath } from '../kit/built-modules.ts'
import { openForEach } from '../kit/open-for.ts'
import { findOrdinaryUser } from '../kit/ordinary-user.ts'
import { runNode } from '../kit/processes.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const folder = openForEach(() => openTempDir('binaries'))
let packageDir: string
beforeEach(async () => {
  packageDir = join(folder.path, 'package')
  // The state after npm unpacks it without running install scripts: without any links.
  await cp(resolveBinaryPackage(), packageDir, {
    recursive: true,
    verbatimSymlinks: true,
    filter: async (path) => !(await lstat(path)).isSymbolicLink(),
  })
})

it('creates the links elsewhere if the package folder is read-only', async () => {
  await chmod(folder.path, 0o755)
  const links = join(folder.path, 'open/links')
  await mkdir(join(folder.path, 'open'))
  await chmod(join(folder.path, 'open'), 0o777)
  for (const path of ['.', 'native', 'native/lib']) await chmod(join(packageDir, path), 0o555)
  const script = `
    const [, binariesModule, runAsModule, packageDir, links] = process.argv
    const { openBinaries } = await import(binariesModule)
    const { detectRunAs, runToEnd } = await import(runAsModule)
    const binaries = await openBinaries(packageDir, links)
    const runAs = await detectRunAs(binaries, '/')
    const { code, output } = await runToEnd(runAs, [binaries.postgres, '--version'], { cwd: '/' })
    console.log(JSON.stringify({ libraries: binaries.libraries, code, output }))`
  const modules = [modulePath('embedded/binaries'), modulePath('embedded/run-as')]
  const finished = await runNode(['--input-type=module', '-e', script, ...modules, packageDir, links], {
    prefix: await findOrdinaryUser(),
  })
  expect(finished.stderr).toBe('')
  expect(JSON.parse(finished.stdout)).toEqual({
    libraries: links,
    code: 0,
    output: expect.stringContaining('PostgreSQL'),
  })
  for (const path of ['.', 'native', 'native/lib']) await chmod(join(packageDir, path), 0o755)
})

it('creates missing links in place, and says what to do if the programs are for another system', async () => {
  const binaries = await openBinaries(packageDir, join(folder.path, 'links'))
  expect(binaries.libraries).toBeUndefined()
  await detectRunAs(binaries, folder.path)
  expect(await openBinaries(packageDir, join(folder.path, 'links'))).toEqual(binaries)
  await rm(binaries.postgres)
  await writeFile(binaries.postgres, '#!/nonexistent/loader\n', { mode: 0o755 })
  await expect(detectRunAs(binaries, folder.path)).rejects.toMatchObject({
    ...{ name: 'ConfigError', code: 'embedded_unavailable' },
    message: expect.stringContaining('set DATABASE_URL'),
  })
  // A damaged package.
  await rm(join(packageDir, 'native/pg-symlinks.json'))
  await expect(openBinaries(packageDir, folder.path)).rejects.toMatchObject({ code: 'embedded_unavailable' })
})
