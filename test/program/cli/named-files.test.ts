import { execFileSync } from 'node:child_process'
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { scanNamed } from '../../../src/program/app/files/named-files.ts'
import { openForAll, openForTest } from '../../kit/open-for.ts'
import { asOrdinaryUser } from '../../kit/ordinary-user.ts'
import { makeRide } from '../../kit/ride.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { openCliRig } from './rig.ts'

const AS_LONG = `${'é'.repeat(125)}x.fit`
/** Names below a folder, as text or bytes, and how they are shown; undefined: unchanged. */
const NAMES: ReadonlyArray<[name: string | Buffer, shown?: string]> = [
  ['plain.fit'],
  [Buffer.from('Fahrt n\xf6rdlich.fit', 'latin1'), 'Fahrt nördlich.fit'],
  ['caf\u00e9.fit'],
  ['cafe\u0301.FIT'],
  ['two\nlines\u001b[31m.fit', 'two\nlines\\x1B[31m.fit'],
  [AS_LONG],
  ['deep/1/2/3/4/5/6/7/8/ride.fit'],
  ['done/2026-05/ride.fit'],
]
const IGNORED = ['@eaDir', '.stversions', '#recycle', '@Recycle', '#snapshot', 'lost+found', '.hidden']
/** Files that are not a ride, and why; undefined: the command does not name the file. */
const ODD: ReadonlyArray<[name: string, why: string | undefined]> = [
  ['empty.fit', 'the file is empty'],
  ['empty.zip', 'the file is empty'],
  ['link.fit', 'it is a link, and links in a folder are not followed; name its target'],
  ['pipe.fit', 'it is a pipe, not a file'],
  ['socket.fit', 'it is a socket, not a file'],
  ['notes.txt', undefined],
  ...IGNORED.map((folder): [string, undefined] => [`${folder}/ride.fit`, undefined]),
]

describe('a folder that a command names', () => {
  const rig = openForAll(() => openCliRig({ activities: 0, isSignedIn: true }))
  const socket = createServer()
  const said = { attach: '', upload: '' }
  const codes: unknown[] = []
  beforeAll(async () => {
    const dir = join(rig.dataDir, 'years')
    const put = async (name: string | Buffer, bytes: Uint8Array) => {
      if (typeof name === 'string') await mkdir(join(dir, name, '..'), { recursive: true })
      await writeFile(Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(name)]), bytes)
    }
    for (const [n, [name]] of NAMES.entries())
      await put(name, makeRide({ seed: n + 1, start: `2026-05-0${n + 1}T08:00:00Z` }))
    for (const folder of IGNORED)
      await put(`${folder}/ride.fit`, makeRide({ seed: 99, start: '2026-06-01T08:00:00Z' }))
    for (const name of ['empty.fit', 'empty.zip', 'notes.txt']) await put(name, new Uint8Array())
    await symlink(join(dir, 'plain.fit'), join(dir, 'link.fit'))
    execFileSync('/usr/bin/env', ['mkfifo', join(dir, 'pipe.fit')])
    socket.unref().listen(join(dir, 'socket.fit'))
    await rig.musette(['sync'])
    for (const verb of ['attach', 'upload'] as const) {
      const { code, stdout } = await rig.musette([verb, 'years'])
      said[verb] = stdout
      codes.push(code)
    }
    socket.close()
  })

  it('makes each command exit 5 if a file in it is not read', () => expect(codes).toEqual([5, 5]))

  describe.each(['attach', 'upload'] as const)('with %s', (verb) => {
    it.each(NAMES.map(([name, shown = String(name)]) => shown))(
      'reads the file %j next to unreadable files',
      (shown) => {
        const end = verb === 'attach' ? 'not attached: no activity here has its start' : 'accepted, activity '
        expect(said[verb]).toContain(`years/${shown}: ${end}`)
      },
    )

    it.each(ODD)('reports %s with the reason %j', (name, why) => {
      const line = said[verb].split('\n').find((each) => each.startsWith(`years/${name}: `))
      const end = verb === 'attach' ? 'not attached' : 'refused'
      expect(line).toBe(why && `years/${name}: ${end}: ${why}`)
    })
  })
})

it('a folder of mode 000 is named once, and the other folders are read', async () => {
  const { path: dir } = await openForTest(openTempDir('locked'))
  for (const folder of ['a', 'locked', 'z']) {
    await mkdir(join(dir, folder))
    await writeFile(join(dir, folder, 'ride.fit'), '')
  }
  await chmod(dir, 0o755)
  await chmod(join(dir, 'locked'), 0)
  const list = async (path: string) => {
    const files = await asOrdinaryUser(() => scanNamed([path]))
    return files.map((file) => [file.path.slice(dir.length), 'reason' in file ? file.reason : 'is read'])
  }
  const locked = ['/locked', 'it cannot be read (EACCES)']
  expect(await list(dir)).toEqual([['/a/ride.fit', 'is read'], ['/z/ride.fit', 'is read'], locked])
  expect(await list(join(dir, 'locked'))).toEqual([locked])
  await chmod(join(dir, 'locked'), 0o755)
})
