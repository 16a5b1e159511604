import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { makeReadiness } from '../../../src/program/daemon/probes.ts'
import { openRig } from '../../core/mirror/rig.ts'

/** The threads that Node has for files. */
const THREADS = Number(process.env.UV_THREADPOOL_SIZE ?? 4)

it('a daemon with an endless scan or a silent disk is not ready and says so', async () => {
  const rig = await openRig({ activities: 0 })
  onTestFinished(() => rig.close())
  const jobs = { counts: async () => ({ polls: {}, fetches: {} }) }
  let since: Date | undefined
  const makeReady = () =>
    makeReadiness({ app: rig.app, jobs, dropFolder: { walkingSince: () => since } }, ['watcher'])
  const ready = makeReady()
  expect(await ready()).toMatchObject({ ready: true, parts: { drop_folder: 'ok', files: 'ok' } })
  since = new Date(Date.now() - 60_000)
  expect(await ready()).toMatchObject({ ready: true })
  since = new Date(Date.now() - 3_600_000)
  expect(await ready()).toMatchObject({
    ready: false,
    parts: { drop_folder: expect.stringMatching(/^a scan does not end since .*; restart the daemon$/) },
  })
  since = undefined
  const pipe = join(rig.dataDir, 'pipe')
  execFileSync('mkfifo', [pipe])
  const hanging = Array.from({ length: THREADS }, () => open(pipe, constants.O_RDONLY))
  try {
    expect(await makeReady()()).toMatchObject({
      ready: false,
      parts: { files: 'the disk does not answer; restart the daemon' },
    })
  } finally {
    const writer = openSync(pipe, constants.O_RDWR)
    for (const file of await Promise.all(hanging)) await file.close()
    closeSync(writer)
  }
})
