import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { dropFile, removeArriving } from '../../../src/program/app/files/drop-file.ts'
import { makeAccount, openTestStore } from '../../core/store/open.ts'
import { readConfig } from '../../kit/config.ts'
import { makeTestLog } from '../../kit/log.ts'
import { openForEach, openForTest } from '../../kit/open-for.ts'
import { makeRide } from '../../kit/ride.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const RIDE = makeRide()
const ID = '0b5e7a3c-0000-4000-8000-0123456789ab'
const ARRIVED = [`${ID}.arrived`, `${ID}.arrived.${ID}.part`]
const HOURS_AGO = new Date(Date.now() - 5 * 3_600_000)

const data = openForEach(() => openTempDir('dropped'))
let drop: string
beforeEach(() => {
  drop = join(data.path, 'drop')
})

/** Another user's folder with old files, some of them with names that musette uses. */
async function openVictim() {
  const { path } = await openForTest(openTempDir('victim'))
  for (const name of ['wedding.jpg', '.hidden', ...ARRIVED]) {
    await writeFile(join(path, name), 'of somebody else', { mode: 0o600 })
    await utimes(join(path, name), HOURS_AGO, HOURS_AGO)
  }
  const read = () =>
    readdirSync(path).map((name) => [
      name,
      lstatSync(join(path, name)).mode,
      readFileSync(join(path, name), 'utf8'),
    ])
  return { path, read, before: read() }
}

async function* bytesOf(bytes: Uint8Array) {
  yield bytes
}

async function openApp() {
  const { store } = await openTestStore()
  for (const name of ['default', 'partner']) await makeAccount(store, name)
  const config = readConfig({ MUSETTE_DATA_DIR: data.path })
  return {
    send: (account: string, bytes: Uint8Array = RIDE) =>
      dropFile({ config, store }, { account, name: 'ride.fit', bytes: bytesOf(bytes) }),
  }
}

describe('a partly arrived file', () => {
  it('is removed and logged if it is ours and old; other files stay', async () => {
    const folder = join(drop, '.arriving')
    await mkdir(folder, { recursive: true })
    const others = ['wedding.jpg', '.hidden', `${ID}.arrived.jpg`, `${ID}.part`, `x${ID}.arrived`]
    for (const name of [...ARRIVED, ...others]) await writeFile(join(folder, name), 'x')
    await mkdir(join(folder, ARRIVED[0]?.replace('0b', '1b') ?? ''))
    await symlink(join(folder, 'wedding.jpg'), join(folder, ARRIVED[0]?.replace('0b', '2b') ?? ''))
    await writeFile(join(folder, ARRIVED[0]?.replace('0b', '3b') ?? ''), 'it is arriving')
    const before = readdirSync(folder)
    for (const name of [...ARRIVED, ...others]) await utimes(join(folder, name), HOURS_AGO, HOURS_AGO)
    const log = makeTestLog()
    await removeArriving(log, drop)
    expect(readdirSync(folder)).toEqual(before.filter((name) => !ARRIVED.includes(name)))
    expect(log.lines.map(({ file }) => file).sort()).toEqual(ARRIVED.map((name) => join(folder, name)).sort())
  })

  it('is not removed behind a link; the link is named with the command that removes it', async () => {
    const victim = await openVictim()
    await mkdir(drop)
    await symlink(victim.path, join(drop, '.arriving'))
    const log = makeTestLog()
    await removeArriving(log, drop)
    expect(victim.read()).toEqual(victim.before)
    const [{ level, msg } = {}] = log.lines
    expect(level).toBe('warn')
    expect(msg).toMatch(new RegExp(`run: rm ${join(drop, '.arriving')}$`))
  })
})

describe('a file from the page', () => {
  it.each([
    ['the folder where it arrives', 'default', '.arriving'],
    ["its account's folder", 'partner', 'partner'],
  ])('is refused while %s is a link, and accepted after the command was typed', async (_, account, name) => {
    const victim = await openVictim()
    const { send } = await openApp()
    await mkdir(drop)
    await symlink(victim.path, join(drop, name))
    const refused = await send(account)
    expect(refused).toMatchObject({ accepted: false })
    const run = 'reason' in refused ? (refused.reason.split('; run: ')[1] ?? '') : ''
    expect(run).toBe(`rm ${join(drop, name)}`)
    execFileSync('sh', ['-c', run])
    expect(await send(account)).toMatchObject({ accepted: true, fileName: 'ride.fit' })
    expect(victim.read()).toEqual(victim.before)
    expect(existsSync(join(drop, account === 'default' ? '' : account, 'ride.fit'))).toBe(true)
  })

  it.each(['000', '022', '077'])(
    'is private to its owner, like new folders, under umask %s',
    async (umask) => {
      const before = process.umask(umask)
      onTestFinished(() => void process.umask(before))
      const { send } = await openApp()
      await send('partner')
      const modes = ['', 'partner', '.arriving', 'partner/ride.fit'].map(
        (path) => lstatSync(join(drop, path)).mode & 0o777,
      )
      expect(modes).toEqual([0o700, 0o700, 0o700, 0o600])
    },
  )

  it('is refused if it is empty, and leaves nothing behind', async () => {
    const { send } = await openApp()
    const refused = await send('default', Buffer.alloc(0))
    expect(refused).toMatchObject({ accepted: false, reason: expect.not.stringContaining('ERR_') })
    expect(readdirSync(join(drop, '.arriving'))).toEqual([])
    expect(readdirSync(drop)).not.toContain('ride.fit')
  })
})
