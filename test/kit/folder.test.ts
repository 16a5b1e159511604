import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, lstatSync, readdirSync } from 'node:fs'
import { chown, mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Folder, openBelow, openFolder } from '../../src/kit/folders/folder.ts'
import { closeAfter } from '../../src/kit/release-stack.ts'
import { openForEach } from './open-for.ts'
import { openTempDir } from './temp-dir.ts'

const inside = openForEach(() => openTempDir('folder'))
const outside = openForEach(() => openTempDir('outside'))
let dir: string
let victim: string
beforeEach(async () => {
  dir = inside.path
  victim = outside.path
  await writeFile(join(victim, 'secret'), 'of somebody else', { mode: 0o600 })
})

/** Everything in the folder of somebody else, with modes and contents. */
const victims = async () =>
  Promise.all(
    readdirSync(victim, { recursive: true, encoding: 'utf8' }).map(async (name) => {
      const stats = lstatSync(join(victim, name))
      return [name, stats.mode & 0o7777, stats.isFile() && (await readFile(join(victim, name), 'utf8'))]
    }),
  )
const UNTOUCHED = [['secret', 0o600, 'of somebody else']]
const modeOf = async (path: string) => (await stat(path)).mode & 0o7777
const mkfifo = (path: string) => execFileSync('/usr/bin/env', ['mkfifo', path])

/** What may be in the place of a folder, and the command that removes it. */
const OBSTACLES: ReadonlyArray<[what: string, plant: (path: string) => unknown, run: string]> = [
  ['a link to a folder', (path) => symlink(victim, path), 'rm PATH'],
  ['a link to a file', (path) => symlink(join(victim, 'secret'), path), 'rm PATH'],
  ['a link to nothing', (path) => symlink(join(victim, 'new'), path), 'rm PATH'],
  ['a link to itself', (path) => symlink(path, path), 'rm PATH'],
  ['a file', (path) => writeFile(path, 'of a person'), 'mv PATH PATH.old'],
  ['a pipe', mkfifo, 'mv PATH PATH.old'],
]

describe.each(OBSTACLES)('%s in the place of a folder', (_, plant, command) => {
  it.each(['openInner', 'makeInner'] as const)(
    '%s refuses the obstacle and names the command that removes it',
    async (how) => {
      const path = join(dir, "a rider's")
      await plant(path)
      await closeAfter(await openFolder(dir), async (folder) => {
        const error: Error = await folder[how]("a rider's").then(
          () => expect.unreachable(),
          (error) => error,
        )
        expect(error).toMatchObject({ code: 'not_a_folder' })
        const run = error.message.split('; run: ')[1] ?? ''
        const word = `'${path.replaceAll("'", `'\\''`)}'`
        expect(run).toBe(command.replace('PATH.old', word.replace(/'$/, ".old'")).replace('PATH', word))
        execFileSync('sh', ['-c', run])
        await (await folder.makeInner("a rider's")).close()
      })
      expect(await victims()).toEqual(UNTOUCHED)
    },
  )
})

describe.each([
  ['a link to a file', (path: string) => symlink(join(victim, 'secret'), path), 'ELOOP'],
  ['a link to nothing', (path: string) => symlink(join(victim, 'new'), path), 'ELOOP'],
  ['a pipe', mkfifo, 'not_a_plain_file'],
  ['a folder', (path: string) => mkdir(path), 'not_a_plain_file'],
])('%s in the place of a file', (_, plant, code) => {
  it('an obstacle in the place of a file is not opened and not overwritten', async () => {
    await plant(join(dir, 'a'))
    await closeAfter(await openFolder(dir), async (folder) => {
      await expect(folder.open('a')).rejects.toMatchObject({ code })
      await expect(folder.read('a')).rejects.toMatchObject({ code })
      await expect(folder.create('a', 0o644)).rejects.toMatchObject({ code: 'EEXIST' })
      const refused = folder.write('a', 'x', { mode: 0o600, replace: false })
      await expect(refused).rejects.toMatchObject({ code: 'EEXIST' })
    })
    expect(readdirSync(dir)).toEqual(['a'])
    expect(await victims()).toEqual(UNTOUCHED)
  })
})

it('a file replaces a link and leaves the target of the link untouched', async () => {
  await symlink(join(victim, 'secret'), join(dir, 'a'))
  await symlink(join(victim, 'secret'), join(dir, 'b'))
  await closeAfter(await openFolder(dir), async (folder) => {
    await folder.write('a', 'own', { mode: 0o600, replace: true })
    const file = await folder.createDurable('b')
    await file.write(Buffer.from('own'))
    await file.commit()
  })
  for (const name of ['a', 'b']) expect(lstatSync(join(dir, name)).isFile()).toBe(true)
  expect(await victims()).toEqual(UNTOUCHED)
})

/** Every change that a folder offers. `to` is another folder. */
const CHANGES: ReadonlyArray<[name: string, change: (folder: Folder, to: Folder) => Promise<unknown>]> = [
  ['create', async (folder) => (await folder.create('new', 0o644)).close()],
  ['write', (folder) => folder.write('whole', 'x', { mode: 0o644, replace: false })],
  ['makeInner', async (folder) => (await folder.makeInner('inner', 0o755)).close()],
  ['createDurable', async (folder) => (await folder.createDurable('large')).commit()],
  ['rename', (folder, to) => folder.rename('secret', to, 'moved')],
  ['link', (folder, to) => folder.link('second', to, 'linked')],
  ['unlink', (folder) => folder.unlink('third')],
  ['rmdir', (folder) => folder.rmdir('empty')],
  ['rename into it', (folder, to) => to.rename('other', folder, 'came')],
]

describe('a folder replaced by a link', () => {
  beforeEach(async () => {
    for (const at of [victim, join(dir, 'a')]) {
      await mkdir(join(at, 'empty'), { recursive: true })
      for (const name of ['secret', 'second', 'third']) await writeFile(join(at, name), 'of somebody else')
    }
    await mkdir(join(dir, 'to'))
    await writeFile(join(dir, 'to', 'other'), 'x')
  })
  const swap = async () => {
    await rename(join(dir, 'a'), join(dir, 'b'))
    await symlink(victim, join(dir, 'a'))
  }

  it.skipIf(process.platform !== 'linux')('an open folder stays the same if a link replaces it', async () => {
    const before = await victims()
    await closeAfter(await openFolder(dir), async (root) => {
      const [folder, to] = [await root.openInner('a'), await root.openInner('to')]
      await swap()
      for (const [, change] of CHANGES) await change(folder, to)
      expect((await folder.list()).map(({ name }) => String(name)).sort()).toEqual([
        'came',
        'inner',
        'large',
        'new',
        'second',
        'whole',
      ])
      await folder.close()
      await to.close()
    })
    expect(readdirSync(join(dir, 'b')).sort()).toEqual(['came', 'inner', 'large', 'new', 'second', 'whole'])
    expect(readdirSync(join(dir, 'to')).sort()).toEqual(['linked', 'moved'])
    expect(await victims()).toEqual(before)
  })

  it.each(CHANGES)('%s detects the link on a system without paths of file handles', async (_, change) => {
    const before = await victims()
    await closeAfter(await openFolder(dir, { handles: '/nowhere' }), async (root) => {
      const [folder, to] = [await root.openInner('a'), await root.openInner('to')]
      await swap()
      await expect(change(folder, to)).rejects.toMatchObject({ code: 'ESTALE' })
      await expect(folder.list()).rejects.toMatchObject({ code: 'ESTALE' })
      await folder.close()
      await to.close()
    })
    expect(await victims()).toEqual(before)
    expect(readdirSync(join(dir, 'b')).sort()).toEqual(['empty', 'second', 'secret', 'third'])
  })
})

describe.each(['000', '022', '077'])('modes under umask %s', (umask) => {
  const before = process.umask()
  beforeEach(() => {
    process.umask(umask)
    return () => process.umask(before)
  })

  it('new files and folders have the requested modes', async () => {
    const made = join(dir, 'one', 'two')
    await closeAfter(await openFolder(made, { mode: 0o755 }), async (folder) => {
      await (await folder.create('new', 0o644)).close()
      await folder.write('own', 'x', { mode: 0o600, replace: true })
      await folder.write('all', 'x', { mode: 0o644, replace: false })
      await (await folder.createDurable('large')).commit()
      await closeAfter(await folder.makeInner('private', 0o700), async (inner) => {
        await (await inner.makeInner('alike')).close()
      })
      await closeAfter(await folder.makeInner('shared', 0o2775), async (inner) => {
        await (await inner.makeInner('alike')).close()
      })
    })
    const modes = { new: 0o644, own: 0o600, all: 0o644, large: 0o600, private: 0o700, shared: 0o2775 }
    for (const [name, mode] of Object.entries({ ...modes, '..': 0o755, '.': 0o755 }))
      expect([name, await modeOf(join(made, name))]).toEqual([name, mode])
    expect(await modeOf(join(made, 'private', 'alike'))).toBe(0o700)
    expect(await modeOf(join(made, 'shared', 'alike'))).toBe(0o2775)
  })

  it('an existing folder keeps its mode', async () => {
    await mkdir(join(dir, 'own'))
    chmodSync(join(dir, 'own'), 0o750)
    await (await openFolder(join(dir, 'own'), { mode: 0o755 })).close()
    await closeAfter(await openFolder(dir), async (folder) => (await folder.makeInner('own', 0o755)).close())
    expect(await modeOf(join(dir, 'own'))).toBe(0o750)
  })
})

it('the configured folder may be a link, but a folder below it may not', async () => {
  await mkdir(join(dir, 'disk', 'a', 'b'), { recursive: true })
  await symlink(join(dir, 'disk'), join(dir, 'set'))
  await (await openBelow(join(dir, 'set'), ['a', 'b'])).close()
  await (await openBelow(join(dir, 'set'), [])).close()
  await rename(join(dir, 'disk', 'a'), join(dir, 'aside'))
  await symlink(join(dir, 'aside'), join(dir, 'disk', 'a'))
  const refused = openBelow(join(dir, 'set'), ['a', 'b'])
  await expect(refused).rejects.toMatchObject({ code: 'not_a_folder' })
})

it.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'a folder that may be entered but not read is also held open',
  async () => {
    await mkdir(join(dir, 'inbox'))
    await chown(join(dir, 'inbox'), 65_534, 65_534)
    chmodSync(join(dir, 'inbox'), 0o300)
    chmodSync(dir, 0o755)
    process.seteuid?.(65_534)
    try {
      await closeAfter(await openFolder(join(dir, 'inbox')), async (folder) => {
        process.seteuid?.(0)
        await rename(join(dir, 'inbox'), join(dir, 'moved'))
        await symlink(victim, join(dir, 'inbox'))
        process.seteuid?.(65_534)
        await folder.write('ride.fit', 'x', { mode: 0o600, replace: true })
        await folder.sync()
        await expect(folder.list()).rejects.toMatchObject({ code: 'EACCES' })
      })
    } finally {
      process.seteuid?.(0)
    }
    expect(readdirSync(join(dir, 'moved'))).toEqual(['ride.fit'])
    expect(await victims()).toEqual(UNTOUCHED)
  },
)

it.skipIf(process.platform !== 'linux')(
  'closing a folder waits for its running operations and leaves no file descriptor open',
  async () => {
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    const folder = await openFolder(dir)
    await Promise.all(['a', 'b'].map((name) => writeFile(join(dir, name), name)))
    await expect(folder.openInner('a')).rejects.toMatchObject({ code: 'not_a_folder' })
    await expect(folder.openInner('nothing')).rejects.toMatchObject({ code: 'ENOENT' })
    const gate = new AbortController()
    const begun = folder.use('a', () => once(gate.signal, 'abort'))
    const closing = folder.close().then(() => 'closed')
    await expect(Promise.race([closing, folder.list().catch(() => 'refused')])).resolves.toBe('refused')
    await pause(20)
    expect(open()).toBe(before + 1)
    gate.abort()
    await begun
    await closing
    await expect(folder.list()).rejects.toThrow('is closed')
    expect(open()).toBe(before)
  },
)

it.each(['', '.', '..', '../a', 'a/b', '/etc/passwd', 'a\0'])(
  'a folder refuses the name %j',
  async (name) => {
    await closeAfter(await openFolder(dir), (folder) =>
      expect(folder.lstat(name)).rejects.toThrow('is not the name of an entry'),
    )
  },
)
