import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { acquireLock, isLocked } from '../../src/embedded/lock.ts'
import { openForEach } from '../kit/open-for.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const folder = openForEach(() => openTempDir('lock'))
const pathOf = (program: string) =>
  execFileSync('sh', ['-c', `command -v ${program}`])
    .toString()
    .trim()

/** The programs for locking on a machine: real ones, or a script that refuses and exits. */
const REFUSED = "echo 'flock: 3: No locks available' >&2; exit"
const MACHINES: ReadonlyArray<[what: string, isKernelLock: boolean, programs: Record<string, string>]> = [
  ['flock', true, { flock: '' }],
  ['perl where flock is missing', true, { perl: '' }],
  ['identity where flock and perl are missing', false, {}],
  ['identity where the file system refuses it', false, { flock: `${REFUSED} 71` }],
  ['identity where it refuses it to busybox', false, { flock: `${REFUSED} 1` }],
]

/** Leaves this process only these programs. */
async function usePrograms(programs: Record<string, string>): Promise<void> {
  const bin = join(folder.path, 'bin')
  await mkdir(bin)
  for (const [name, script] of Object.entries(programs)) {
    if (script === '') await symlink(pathOf(name), join(bin, name))
    else await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  vi.stubEnv('PATH', bin)
}
afterEach(() => vi.unstubAllEnvs())

const dataDir = () => folder.path
const owner = () => join(dataDir(), 'postgres.owner')

/** Writes a holder into the lock file: this process, with the given changes. */
async function writeHolder(changed: Record<string, unknown>): Promise<void> {
  const lock = await acquireLock(dataDir())
  const self = JSON.parse(await readFile(owner(), 'utf8'))
  await lock?.release()
  await writeFile(owner(), JSON.stringify({ ...self, token: randomUUID(), ...changed }))
}

describe.each(MACHINES)('a lock by means of %s', (_what, isKernelLock, programs) => {
  it.each([
    ['a free lock', false],
    ['the lock of a dead holder', true],
  ])('gives %s to one of many processes, and to the next after its release', async (_which, isDead) => {
    await usePrograms(programs)
    for (let round = 0; round < 2; round++) {
      if (isDead) await writeHolder({ startedAt: 'another time' })
      const asked = await Promise.all(Array.from({ length: 10 }, () => acquireLock(dataDir())))
      const given = asked.filter((one) => one !== undefined)
      expect(given).toHaveLength(1)
      expect(await isLocked(dataDir())).toBe(true)
      await given[0]?.release()
      expect(await isLocked(dataDir())).toBe(false)
      expect(await readdir(dataDir())).toEqual(['bin', 'postgres.owner'])
    }
    expect((await stat(owner())).mode & 0o777).toBe(0o600)
  })

  it.each([
    ['of another musette', { isKernelLock: false }],
    ['of 1.1.0', { isKernelLock: undefined, place: undefined }],
  ])('is not taken from a living holder %s without a kernel lock', async (_who, changed) => {
    await usePrograms(programs)
    await writeHolder(changed)
    expect(await acquireLock(dataDir(), 'owner', { takeOver: true })).toBeUndefined()
    expect(await isLocked(dataDir())).toBe(true)
  })

  it.each(['another boot', 'another pid namespace'])(
    'is taken from a holder on %s once the kernel has released it, otherwise only by --take-over',
    async (which) => {
      await usePrograms(programs)
      await writeHolder({})
      const { place } = JSON.parse(await readFile(owner(), 'utf8'))
      const [boot, namespace] = String(place).split(' ')
      await writeHolder({ place: which === 'another boot' ? `b00t ${namespace}` : `${boot} pid:[1]` })
      expect(await isLocked(dataDir())).toBe(!isKernelLock)
      if (!isKernelLock) expect(await acquireLock(dataDir())).toBeUndefined()
      const lock = await acquireLock(dataDir(), 'owner', { takeOver: !isKernelLock })
      expect(lock).toBeDefined()
      await lock?.release()
    },
  )
})
