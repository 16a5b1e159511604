import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { openCliRig } from '../cli/rig.ts'

const DIE_AT = fileURLToPath(new URL('die-at.mjs', import.meta.url))
const MOMENTS = [
  { moment: 'before the new key is there', sealed: false },
  { moment: 'after the new key is there', sealed: false },
  { moment: 'before the commit', sealed: false },
  { moment: 'after the commit', sealed: true },
  { moment: 'after the new key is in its place', sealed: true },
] as const

const rig = openForAll(() => openCliRig({ activities: 1, isSignedIn: true }))

const keyIdInUse = async () => (await rig.rows('select key_id from musette.credentials'))[0]?.key_id
/** The key files, except those that a rotation has replaced, which stay for backups. */
const keyFiles = async () =>
  (await readdir(rig.dataDir)).filter((name) => /^secret\.key(?!\.old-[0-9a-f]{8}$)/.test(name))

it.each(MOMENTS)(
  'a rotation that is killed $moment leaves a login that can be decrypted',
  async ({ moment, sealed }) => {
    const before = await keyIdInUse()
    const killed = await rig.musette(['key', 'rotate'], {
      env: { NODE_OPTIONS: `--import=${DIE_AT}`, DIE_AT: moment },
    })
    expect(killed).toMatchObject({ signal: 'SIGKILL' })
    expect((await keyIdInUse()) !== before).toBe(sealed)
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
    // The next start has put the new key in place if the rotation counts.
    if (sealed) expect(await keyFiles()).toEqual(['secret.key'])
    const between = await keyIdInUse()
    expect(await rig.musette(['key', 'rotate'])).toMatchObject({ code: 0 })
    expect(await keyIdInUse()).not.toBe(between)
    expect(await keyFiles()).toEqual(['secret.key'])
    expect((await stat(join(rig.dataDir, 'secret.key'))).mode & 0o777).toBe(0o600)
    expect(await rig.musette(['sync'])).toMatchObject({ code: 0 })
  },
)
