import { existsSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import { LINES } from './lines.ts'
import { openCliRig } from './rig.ts'

describe.skipIf(!existsSync('/dev/full'))('standard output on a full disk', () => {
  const rig = openForAll(() => openCliRig({ activities: 3, isSignedIn: true }))
  let path: string
  beforeAll(async () => {
    await rig.musette(['sync'])
    path = String((await rig.rows('select path from training.activities'))[0]?.path)
  })

  /** Runs a verb with a stream that goes to the device that is always full. */
  const run = (stream: 1 | 2, args: readonly string[], input?: string) =>
    startNode([distPath('main.js'), ...args], {
      prefix: ['sh', '-c', `exec "$0" "$@" ${stream}> /dev/full`],
      cwd: rig.dataDir,
      env: rig.env,
      ...(input !== undefined && { input }),
    }).finished

  it('makes every verb exit 4 with one sentence, as a full disk under a named file does', async () => {
    for (const { line, input } of LINES.prints(path)) {
      const { code, stderr } = await run(1, line, input)
      const sentences = stderr.split('\n').filter((line) => line.includes('ENOSPC'))
      expect(sentences, `${line.join(' ')}: ${stderr}`).toEqual([
        'musette: standard output cannot be written: the disk is full (ENOSPC); make room, or send it to a file on another disk',
      ])
      expect(stderr).not.toMatch(/^ +at /m)
      expect(code, line.join(' ')).toBe(4)
    }
  })

  it('does not change the answer or the exit code if only messages are lost', async () => {
    expect(await run(2, ['status', '--json'])).toMatchObject({ code: 0 })
    for (const line of LINES.ofAccount.filter((line) => line.includes('nowhere')))
      expect(await run(2, line)).toMatchObject({ code: 2 })
    expect(JSON.parse((await run(2, ['sync', '--json'])).stdout)).toMatchObject({ account: 'default' })
  })
})
