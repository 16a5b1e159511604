import { execFile } from 'node:child_process'
import { expect, it, onTestFinished } from 'vitest'
import { distPath } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

it('a process with a low limit of open files says so in one sentence, with the number it needs', async () => {
  const folder = await openTempDir('few-files')
  onTestFinished(() => folder.close())
  const env = {
    PATH: process.env.PATH,
    MUSETTE_DATA_DIR: folder.path,
    MUSETTE_BASE_URL: 'http://127.0.0.1:9',
  }
  const ended = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
    const shell = `ulimit -n 40; exec "${process.execPath}" "${distPath('main.js')}" start`
    execFile('/bin/sh', ['-c', shell], { env }, (error, _stdout, stderr) =>
      resolve({ code: error?.code, stderr }),
    )
  })
  expect(ended).toEqual({
    code: 4,
    stderr: expect.stringMatching(
      /\nmusette: too many open files; raise the limit to 256 or more: ulimit -n 1024, .*\n$/,
    ),
  })
})
