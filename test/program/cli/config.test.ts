import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { KNOWN } from '../../kit/config.ts'
import { openForTest } from '../../kit/open-for.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'

it('musette config shows every setting with its source and default, but no secret, and warns of unknown names', async () => {
  const env = {
    DATABASE_URL: 'postgres://rider:hunter2@db/training?sslmode=require&sslpassword=hunter2',
    REDIS_URL: 'redis://hunter2@queue/0',
    MUSETTE_MAP_TILES: 'https://maps.test/{z}/{x}/{y}.png?access_token=hunter2&token=hunter2&hunter2',
    MUSETTE_HTTP_TOKEN: 'hunter2-of-17-chars',
    MUSETTE_POLL_EVERY: '5m',
    MUSETTE_POL_EVERY: '1m',
  }
  const folder = await openForTest(openTempDir('config'))
  const options = { cwd: folder.path, env, isWithoutData: true }
  const file = join(folder.path, 'my.env')
  await writeFile(file, 'MUSETTE_LAG=2h\n')
  const { code, stdout, stderr } = await runVerb(['--settings', file, 'config'], options)
  expect(code).toBe(0)
  expect(stderr).toBe(
    'musette: MUSETTE_POL_EVERY (environment) is not a setting of musette; did you mean MUSETTE_POLL_EVERY?\n',
  )
  for (const name of KNOWN.variables.keys()) expect(stdout).toContain(name)
  expect(stdout).toMatch(/MUSETTE_POLL_EVERY +5m +environment +15m/)
  expect(stdout).toMatch(new RegExp(`MUSETTE_LAG +2h +${file} +1h`))
  expect(stdout).toMatch(/MUSETTE_SETTLE +(\S+) +default +\1/)
  expect(stdout).toMatch(/DATABASE_URL +postgres:\/\/\(hidden\)@db\/training\?\(hidden\) +environment/)
  expect(stdout).toContain('.png?(hidden) ')
  expect(stdout).toMatch(/MUSETTE_HTTP_TOKEN +\(hidden\) +environment/)
  expect(stdout).not.toContain('hunter2')
  // Node itself reads the option with the older name; Node 20 also puts the file into the environment.
  const older = await runNode([distPath('main.js'), '--env-file', file, 'config'], options)
  expect(older.stdout).toMatch(new RegExp(`MUSETTE_LAG +2h +(${file}|environment) +1h`))
  const nameless = {
    ...options,
    env: { DATABASE_URL: 'postgres://db/training' },
    prefix: ['env', '-u', 'USER'],
  }
  expect(await runNode([distPath('main.js'), 'config'], nameless)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('DATABASE_URL names no user; write for example postgres://user:'),
  })
  const wrong = { DATABASE_URL: 'hunter2', MUSETTE_CONCURRENCY: '0' }
  const refused = await runVerb(['config'], { ...options, env: wrong })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(
    /DATABASE_URL is not a Postgres URL[\s\S]*MUSETTE_CONCURRENCY is not a whole/,
  )
  expect(refused.stdout).not.toContain('hunter2')
})
