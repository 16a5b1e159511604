import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findOrdinaryUser } from '../../kit/ordinary-user.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import type { CliRig } from '../cli/rig.ts'
import { doctor, type Found, openSignedIn, type } from './rig.ts'

let rig: CliRig
beforeAll(async () => {
  rig = await openSignedIn()
})
afterAll(() => rig.close())

describe('what is broken on the disk', () => {
  it('is a file of secrets that others may read', async () => {
    const path = join(rig.dataDir, 'secret.key')
    await chmod(path, 0o644)
    const { code, of } = await doctor(rig)
    expect(code).toBe(2)
    expect(of('data directory')[0]).toMatchObject({ state: 'problem', run: `chmod 600 ${path}` })
    await chmod(path, 0o600)
    expect((await doctor(rig)).code).toBe(0)
  })

  it('is a key file that is gone, damaged, or left behind by a rotation', async () => {
    const path = join(rig.dataDir, 'secret.key')
    const [row] = await queryOnce(rig.databaseUrl, 'select key_id from musette.credentials')
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
    try {
      const dirs = ['data', 'drop', 'workouts'].map((name) => join(folder.path, name))
      await chmod(folder.path, 0o755)
      for (const dir of dirs) await mkdir(dir)
      if (prefix[0] === 'setpriv') for (const dir of dirs) await chown(dir, 65_534, 65_534)
      for (const dir of dirs) await chmod(dir, 0o555)
      const [data = '', drop = '', workouts = ''] = dirs
      const history = join(folder.path, "root's history")
      await mkdir(history)
      const env = {
        ...rig.env,
        MUSETTE_DATA_DIR: data,
        MUSETTE_DROP_DIR: drop,
        MUSETTE_WORKOUT_DIR: workouts,
        MUSETTE_EXPORT_DIR: history,
        MUSETTE_BACKUP_DIR: join(folder.path, 'backups'),
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
      for (const [check, dir] of Object.entries({ 'data directory': data, 'workout folder': workouts })) {
        expect(found(check)).toMatchObject({ state: 'problem', run: `chmod u+rwX ${dir}` })
        await type('chmod u+rwX', found(check)?.run, { prefix })
      }
      // Only root can give a folder to another user.
      const isRoot = prefix[0] === 'setpriv'
      if (isRoot) await type('sudo chown', found('export')?.run, { prefix })
      if (isRoot) await type('sudo mkdir', found('backups')?.run, { prefix })
      const mended = await lookAgain()
      for (const check of isRoot ? ['export', 'backups'] : []) {
        expect(found(check)?.found).toContain('cannot be used by this user')
        expect(mended(check)?.found).not.toContain('cannot be used by this user')
      }
      expect(mended('data directory')?.found).not.toBe(found('data directory')?.found)
      expect(mended('workout folder')?.state).toBe('ok')
      const kept = await runNode([main, 'doctor', '--json'], {
        cwd: '/',
        env: { ...env, MUSETTE_AFTER_UPLOAD: 'keep' },
        prefix,
      })
      expect(kept.stdout).toContain('read-only, so its events cannot be tried')
    } finally {
      await folder.close()
    }
  })
})
