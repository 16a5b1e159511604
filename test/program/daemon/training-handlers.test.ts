import { expect, it } from 'vitest'
import { makeTrainingHandlers } from '../../../src/program/daemon/handlers.ts'
import { openScene } from '../../core/mirror/training-scene.ts'
import { openForAll } from '../../kit/open-for.ts'

const scene = openForAll(openScene)

it('the jobs of an account report what they did, and do nothing for a deleted or signed-out account', async () => {
  const context = { signal: new AbortController().signal, log: scene.log.log }
  const poll = (accountId = scene.account.accountId) =>
    makeTrainingHandlers(scene.app)['poll-training-info']({ accountId }, context)
  expect(await poll()).toEqual({ counts: { changed: 1, fetched: 2, failed: 0 } })
  expect(await poll()).toBeUndefined()
  expect(await poll(4_711)).toBeUndefined()
  await scene.steer('POST', 'tokens/revoke')
  await expect(poll()).rejects.toThrow('run: musette login')
  expect(await poll()).toBeUndefined()
})
