import { execFile } from 'node:child_process'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { findBinary } from '../../kit/binaries.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

const run = promisify(execFile)
const analyze = findBinary(['systemd-analyze'])
const UNITS = ['musette', 'musette-user'] as const
const readUnit = (name: string) => readFile(`config/systemd/${name}.service`, 'utf8')

it.each(UNITS)(
  'the unit %s has more time to stop than the daemon takes, and Node and Postgres run in it',
  async (name) => {
    const lines = (await readUnit(name)).split('\n')
    const [, within] =
      /STOP_WITHIN_MS = (\d+) \* SECOND/.exec(await readFile('src/program/cli/verbs/start.ts', 'utf8')) ?? []
    const timeout = lines.find((line) => line.startsWith('TimeoutStopSec='))?.split('=')[1]
    expect(Number(timeout)).toBeGreaterThan(Number(within))
    // Node compiles to memory; without the shared memory of others Postgres cannot see that its folder is in use.
    expect(lines.filter((line) => /^(?:MemoryDenyWriteExecute|PrivateIPC)=/.test(line))).toEqual([])
  },
)

describe.skipIf(!analyze)('systemd-analyze (left out where it is not installed)', () => {
  const folder = openForAll(() => openTempDir('units'))
  beforeAll(async () => {
    for (const name of UNITS) await cp(`config/systemd/${name}.service`, join(folder.path, `${name}.service`))
  })

  const ask = (name: string, args: readonly string[]) =>
    run(
      analyze ?? '',
      [...(name === 'musette-user' ? ['--user'] : []), ...args, join(folder.path, `${name}.service`)],
      { env: { ...process.env, XDG_RUNTIME_DIR: folder.path, LC_ALL: 'C.UTF-8' } },
    )

  it.each(UNITS)('finds nothing wrong in %s', async (name) => {
    const { stdout, stderr } = await ask(name, ['verify'])
    const about = (stdout + stderr).split('\n').filter((line) => line.includes(name))
    expect(about).toEqual([])
  })

  it('gives the unit of the machine the score in docs/installing.md', async () => {
    const { stdout } = await ask('musette', ['security', '--offline=true'])
    const [, exposure] = /exposure level for musette\.service: ([\d.]+)/.exec(stdout) ?? []
    const docs = await readFile('docs/installing.md', 'utf8')
    const [, promised] = /exposure level of ([\d.]+)/.exec(docs) ?? []
    // Later versions of systemd know more settings and count them.
    expect(Number(exposure)).toBeLessThanOrEqual(Number(promised) + 0.4)
    expect(Number(promised)).toBeLessThan(2)
  })
})
