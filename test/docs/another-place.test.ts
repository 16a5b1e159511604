import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readTop } from '../container/dockerfile.ts'
import { openForTest } from '../kit/open-for.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const [, section = ''] = /^## Another place\n([\s\S]*?)^## /m.exec(readTop('docs/backup.md')) ?? []
const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text)
const has = (program: string) => spawnSync(program, ['version']).status === 0

it.each([
  ['restic', 'a folder', ''],
  ['restic', 'a remote of rclone', 'rclone:REMOTE:'],
  ['rclone', 'a remote of rclone', 'REMOTE:'],
])('%s copies the backups to %s and back, as docs/backup.md says', async (program, _, remote) => {
  if (!has('rclone') || !has(program)) {
    expect(
      process.env.CI,
      'restic and rclone are not here; run: apt-get install restic rclone',
    ).toBeUndefined()
    return
  }
  const folder = await openForTest(openTempDir('another-place'))
  const at = (name: string) => join(folder.path, name)
  const [backups, away] = [at('backups'), `${remote}${at('away')}`]
  await mkdir(backups)
  const name = 'musette-20240131T060000Z-0b5e7a3c.tar'
  const bytes = randomBytes(100_000)
  await writeFile(join(backups, name), bytes)
  await writeFile(join(backups, `${name}.0.part`), 'not finished')
  const [once = '', daily = '', back = ''] = program === 'restic' ? blocks.slice(0, 3) : blocks.slice(3)
  const places = once
    .replace(/BACKUPS="[^"]*"/, `BACKUPS="${backups}"`)
    .replace(/(RESTIC_REPOSITORY|AWAY)=\S+/, `$1="${away}"`)
  const script = `rclone config create REMOTE local > /dev/null\n${places}\n${daily}\n${back}`
  execFileSync('sh', ['-e', '-c', script], {
    env: { PATH: process.env.PATH, HOME: folder.path },
    stdio: 'pipe',
  })
  const restored = await readdir(at('back'), { recursive: true })
  const files = restored.filter((path) => /\.(tar|part)$/.test(path))
  expect(files).toHaveLength(1)
  expect((await readFile(join(at('back'), files[0] ?? ''))).equals(bytes)).toBe(true)
  const kept = execFileSync('sh', ['-c', 'cat "$0"/* "$0"/*/* 2>/dev/null || true', at('away')], {
    maxBuffer: 1e8,
  })
  expect(kept.includes(bytes.subarray(0, 1000))).toBe(false)
})
