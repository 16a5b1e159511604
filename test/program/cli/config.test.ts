import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { KNOWN } from '../../kit/config.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

const musette = async (env: Record<string, string>, args: readonly string[] = []) => {
  const folder = await openTempDir('config')
  onTestFinished(() => folder.close())
  const options = { cwd: folder.path, env, isWithoutData: true }
  // Node itself reads the option of the older name.
  return args[0] === '--env-file'
    ? runNode([distPath('main.js'), ...args, 'config'], options)
    : runVerb([...args, 'config'], options)
}

it('shows every setting with its source and default, and no secret', async () => {
  const env = {
    DATABASE_URL: 'postgres://rider:hunter2@db/training',
    MUSETTE_HTTP_TOKEN: 'a-token-of-17-chars',
    MUSETTE_POLL_EVERY: '5m',
  }
  const { code, stdout, stderr } = await musette(env)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const name of KNOWN.variables.keys()) expect(stdout).toContain(name)
  expect(stdout).toMatch(/MUSETTE_POLL_EVERY +5m +environment +15m/)
  expect(stdout).toMatch(/MUSETTE_LAG +1h +default +1h/)
  expect(stdout).toMatch(/DATABASE_URL +postgres:\/\/rider:\(hidden\)@db\/training +environment/)
  expect(stdout).toMatch(/MUSETTE_HTTP_TOKEN +\(hidden\) +environment/)
  expect(stdout).not.toMatch(/hunter2|a-token-of/)
})

it('shows wrong values as hidden, says what is wrong, and ends with 2', async () => {
  const { code, stdout, stderr } = await musette({ DATABASE_URL: 'hunter2', MUSETTE_CONCURRENCY: '0' })
  expect(code).toBe(2)
  expect(stderr).toMatch(/DATABASE_URL is not a Postgres URL/)
  expect(stderr).toMatch(/MUSETTE_CONCURRENCY is not a whole number/)
  expect(stdout).not.toContain('hunter2')
})

it('names the file of a setting', async () => {
  const folder = await openTempDir('env-file')
  onTestFinished(() => folder.close())
  const file = join(folder.path, 'my.env')
  await writeFile(file, 'MUSETTE_LAG=2h\n')
  const { stdout } = await musette({}, ['--settings', file])
  expect(stdout).toMatch(new RegExp(`MUSETTE_LAG +2h +${file} +1h`))
  // Node 20 reads the file of the older name, too, and puts it into the environment.
  const older = await musette({}, ['--env-file', file])
  expect(older.stdout).toMatch(new RegExp(`MUSETTE_LAG +2h +(${file}|environment) +1h`))
})

it('is warned of unknown names by every verb, which continues', async () => {
  const { code, stderr } = await musette({ MUSETTE_POL_EVERY: '1m' })
  expect(code).toBe(0)
  expect(stderr).toBe(
    'musette: MUSETTE_POL_EVERY (environment) is not a setting of musette; did you mean MUSETTE_POLL_EVERY?\n',
  )
})
