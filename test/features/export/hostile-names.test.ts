import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { checkExport, exportAll } from '../../../src/features/export/export-all.ts'
import { readExport } from '../../../src/features/export/export-folder.ts'
import type { Also } from '../../../src/features/export/export-formats.ts'
import { foldName, isPlainName } from '../../../src/kit/folders/file-name.ts'
import { useRig } from '../../core/mirror/rig.ts'
import { canFold, openFoldedDisk } from '../../kit/folded-disk.ts'
import { openForTest } from '../../kit/open-for.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

/** Paths and names of rides that no real service sends. */
const HOSTILE = [
  '../../../tmp/x',
  '../x',
  '/etc/x',
  'a/b',
  'a:b',
  'a?b',
  'a\\b',
  'Case',
  'cASE',
  'con',
  '.hidden',
  'ends. ',
  ' ',
  '\u202egpj\u2066',
  'bell\u0007\nline',
  '\u{1f6b4}'.repeat(80),
  'x'.repeat(300),
]

describe('paths and names of a hostile service', () => {
  const rig = useRig({ activities: 1 })
  beforeAll(async () => {
    for (const [index, path] of HOSTILE.entries()) {
      const started_at = `2025-05-01T08:00:${String(index).padStart(2, '0')}Z`
      await rig.add({ path, name: path, seconds: 20, started_at })
    }
    await rig.sync()
  })

  const run = (dir: string, also: readonly Also[]) => exportAll(rig.app, { dir, kind: 'by_hand', also })
  const faultsIn = async (dir: string) =>
    (await checkExport(rig.app, { dir, signal: new AbortController().signal })).faults

  describe.each([
    ['any disk', true, () => openTempDir('hostile')],
    ['a disk that ignores case', canFold(), openFoldedDisk],
  ] as const)('on %s', (_, isThere, openDisk) => {
    it.runIf(isThere).each([
      ['raw', 'select count(*)::int as n from training.raw_documents'],
      [
        'gpx',
        'select count(*)::int as n from training.activities where sample_count > 0 and start_lat is not null',
      ],
    ] as const)('each get their own file below %s, and none outside it', async (kind, count) => {
      const { path } = await openForTest(openDisk())
      const dir = join(path, 'a', 'b', 'history')
      expect(await run(dir, [kind])).toMatchObject({ skipped: [] })
      const paths = Object.keys((await readExport(dir))?.files ?? {}).filter((one) =>
        one.startsWith(`${kind}/`),
      )
      const [held] = await rig.rows(count)
      expect(held?.n).toBeGreaterThan(HOSTILE.length / 2)
      expect(new Set(paths.map(foldName)).size).toBe(held?.n)
      for (const one of paths) expect(basename(one)).toSatisfy(isPlainName)
      const found = await readdir(path, { recursive: true, withFileTypes: true })
      const files = found
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name))
      expect(files.filter((one) => !one.startsWith(`${dir}/`))).toEqual([])
      expect(await faultsIn(dir)).toEqual([])
      expect(await run(dir, [kind])).toMatchObject({ written: 0, removed: 0 })
    })
  })

  it('left in a manifest by an earlier version are removed by the next export', async () => {
    const { path } = await openForTest(openTempDir('spoiled'))
    const dir = join(path, 'history')
    await run(dir, [])
    const left = ['raw/account=default/year=2025/a/b.json.gz', 'raw/account=default/year=2025/../../../x']
    const manifest = JSON.parse(await readFile(join(dir, 'musette-export.json'), 'utf8'))
    for (const one of left) manifest.files[one] = { fingerprint: 'x', rows: 1, bytes: 1 }
    const staging = join(dir, '.musette-staging')
    await mkdir(dirname(join(staging, left[0] ?? '')), { recursive: true })
    await writeFile(join(staging, left[0] ?? ''), 'x')
    await writeFile(join(path, 'x'), 'of somebody else')
    await writeFile(join(staging, 'musette-export.json'), JSON.stringify(manifest))
    expect(await run(dir, ['raw'])).toMatchObject({ skipped: [] })
    const { files } = JSON.parse(await readFile(join(dir, 'musette-export.json'), 'utf8'))
    expect(Object.keys(files).filter((one) => left.includes(one))).toEqual([])
    expect(await readdir(dir)).not.toContain('.musette-staging')
    expect(await faultsIn(dir)).toEqual([])
    expect(await readFile(join(path, 'x'), 'utf8')).toBe('of somebody else')
  })
})
