import { describe, expect, it } from 'vitest'
import { makeTrainingHandlers } from '../../../src/program/daemon/handlers.ts'
import { openScene } from '../../core/mirror/training-scene.ts'
import { openForEach } from '../../kit/open-for.ts'

describe('the jobs around training info and workouts', () => {
  const scene = openForEach(() => openScene())

  const run = (name: 'poll-training-info' | 'poll-workouts', accountId = scene.account.accountId) => {
    const { log } = scene.log
    const context = { signal: new AbortController().signal, log }
    return makeTrainingHandlers(scene.app)[name]({ accountId }, context)
  }

  it('log their results, and nothing when there was nothing to do', async () => {
    expect(await run('poll-training-info')).toEqual({ counts: { changed: 1, fetched: 2, failed: 0 } })
    expect(await run('poll-training-info')).toBeUndefined()
    expect(await run('poll-workouts')).toEqual({ counts: { changed: 14, fetched: 7, failed: 0 } })
    expect(await run('poll-workouts')).toBeUndefined()
  })

  it('skip an account that is gone or needs a login', async () => {
    expect(await run('poll-training-info', 4_711)).toBeUndefined()
    await scene.steer('POST', 'tokens/revoke')
    await expect(run('poll-training-info')).rejects.toThrow('run: musette login')
    expect(await run('poll-training-info')).toBeUndefined()
    expect(await run('poll-workouts')).toBeUndefined()
  })
})
