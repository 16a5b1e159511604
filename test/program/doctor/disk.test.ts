import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { FEATURES } from '../../../src/features/index.ts'
import { quoteShell } from '../../../src/kit/text.ts'
import { loadStates } from '../../../src/program/frame/findings/facts.ts'
import { openForAll } from '../../kit/open-for.ts'
import { findOrdinaryUser } from '../../kit/ordinary-user.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { doctor, type Found, openSignedIn, type } from './rig.ts'

const rig = openForAll(() => openSignedIn())

describe('what is broken on the disk', () => {
  it('is a key file that is gone, damaged, or left behind by a rotation', async () => {
    const path = join(rig.dataDir, 'secret.key')
    const [row] = await rig.rows('select key_id from musette.credentials')
    const pending = `${path}.new-${row?.key_id}`
    await rename(path, pending)
    await writeFile(path, randomBytes(32).toString('base64'), { mode: 0o600 })
    expect((await doctor(rig)).of('secret key')[0]).toMatchObject({ state: 'warning', run: 'musette status' })
    await writeFile(path, 'half a k')
    const damaged = await doctor(rig)
    expect(damaged.code).toBe(2)
    expect(damaged.of('secret key')[0]?.found).toContain('does not hold 32 bytes')
    await rename(pending, `${path}.aside`)
    await rename(path, `${path}.damaged`)
    const gone = await doctor(rig)
    expect(gone.of('secret key')[0]).toMatchObject({ state: 'problem', run: 'musette login' })
    expect(gone.of('login')).toEqual([
      expect.objectContaining({ state: 'left_out', found: expect.stringContaining('cannot be opened') }),
    ])
    expect(await readdir(rig.dataDir)).not.toContain('secret.key')
    await rename(`${path}.aside`, path)
    expect((await doctor(rig)).code).toBe(0)
  })

  it('is a folder that this user may not write', async () => {
    const prefix = await findOrdinaryUser()
    const folder = await openTempDir('doctor')
    onTestFinished(() => folder.close())
    const isRoot = prefix[0] === 'setpriv'
    // Of the folders of features one is read-only, one is root's, which only root can give to another user, and one is missing.
    const states = (await loadStates(FEATURES)).flatMap(({ check, folder }) =>
      folder ? [{ check, variable: folder.variable }] : [],
    )
    const ways = ['chmod u+rwX', 'sudo chown', 'sudo mkdir'] as const
    const folders = states.map((one, n) => ({
      ...one,
      way: ways[n % 3] ?? 'sudo mkdir',
      dir: join(folder.path, `no ${n}`),
    }))
    await chmod(folder.path, 0o755)
    const [data, drop] = [join(folder.path, 'data'), join(folder.path, 'drop')]
    const readOnly = [data, drop, ...folders.flatMap(({ way, dir }) => (way === 'chmod u+rwX' ? [dir] : []))]
    for (const dir of readOnly) {
      await mkdir(dir)
      if (isRoot) await chown(dir, 65_534, 65_534)
      await chmod(dir, 0o555)
    }
    for (const { way, dir } of folders) if (way === 'sudo chown') await mkdir(dir)
    const env = {
      ...rig.env,
      MUSETTE_DATA_DIR: data,
      MUSETTE_DROP_DIR: drop,
      ...Object.fromEntries(folders.map(({ variable, dir }) => [variable, dir])),
    }
    const main = distPath('main.js')
    const lookAgain = async () => {
      const { stdout } = await runNode([main, 'doctor', '--json'], { cwd: '/', env, prefix })
      const { findings } = JSON.parse(stdout) as { findings: Found[] }
      return (check: string) => findings.find((one) => one.check === check)
    }
    const found = await lookAgain()
    expect(found('drop folder')?.run).toBe(
      `(umask 077; printf '\\n%s\\n' MUSETTE_AFTER_UPLOAD=keep >> ${join(data, 'musette.env')})`,
    )
    const tried = [{ check: 'data directory', way: ways[0], dir: data }, ...folders].filter(
      ({ way }) => isRoot || way === ways[0],
    )
    for (const { check, way, dir } of tried) {
      if (way === ways[0])
        expect(found(check)).toMatchObject({ state: 'problem', run: `chmod u+rwX ${quoteShell(dir)}` })
      else expect(found(check)?.found).toContain('cannot be used by this user')
      await type(way, found(check)?.run, { prefix })
    }
    const mended = await lookAgain()
    for (const { check } of tried) {
      expect(mended(check)?.found).not.toBe(found(check)?.found)
      expect(mended(check)?.found).not.toContain('cannot be used by this user')
    }
  })
})
