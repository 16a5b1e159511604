import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { distPath, startNode } from '../../kit/processes.ts'
import { type CliRig, openCliRig } from './rig.ts'

const INITIALIZE = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})}\n`

describe.skipIf(!existsSync('/dev/full'))('standard output on a disk that is full', () => {
  let rig: CliRig
  let path: string
  beforeAll(async () => {
    rig = await openCliRig({ activities: 3 })
    await rig.signIn()
    await rig.musette(['sync'])
    path =
      (await rig.musette(['sql', '--csv', 'select path from training.activities'])).stdout.split('\n')[1] ??
      ''
  })
  afterAll(() => rig?.close())

  /** Runs a verb whose stream goes to the device that is always full. */
  const run = (stream: 1 | 2, args: readonly string[], input?: string) =>
    startNode([distPath('main.js'), ...args], {
      prefix: ['sh', '-c', `exec "$0" "$@" ${stream}> /dev/full`],
      cwd: rig.dataDir,
      env: rig.env,
      ...(input !== undefined && { input }),
    }).finished

  it('ends every verb with 4 and one sentence, as a full disk under a named file does', async () => {
    for (const args of [
      ['backup', '-'],
      ['sql', 'select * from training.samples'],
      ['sql', '--csv', 'select * from training.samples'],
      ['sql', '--json', 'select 1 as one'],
      ['export', path],
      ['export', path, '--format', 'parquet'],
      ['changes', '--json'],
      ['status'],
      ['status', '--json'],
      ['sync', '--json'],
      ['completion', 'bash'],
      ['--help'],
      ['mcp'],
    ]) {
      const { code, stderr } = await run(1, args, args[0] === 'mcp' ? INITIALIZE : undefined)
      const sentences = stderr.split('\n').filter((line) => line.includes('ENOSPC'))
      expect(sentences, `${args.join(' ')}: ${stderr}`).toEqual([
        'musette: standard output cannot be written: the disk is full (ENOSPC); make room, or send it to a file on another disk',
      ])
      expect(stderr).not.toMatch(/^ +at /m)
      expect(code, args.join(' ')).toBe(4)
    }
  })

  it('does not change the answer or the exit code of a verb when only messages are lost', async () => {
    expect(await run(2, ['status', '--json'])).toMatchObject({ code: 0 })
    expect(await run(2, ['export', 'nowhere'])).toMatchObject({ code: 2 })
    expect(JSON.parse((await run(2, ['sync', '--json'])).stdout)).toMatchObject({ account: 'default' })
  })
})
