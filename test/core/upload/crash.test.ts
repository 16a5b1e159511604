import { EventEmitter, once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { contentIdOf } from '../../../src/core/fit/read-fit.ts'
import type { Store } from '../../../src/core/store/store.ts'
import { findFitKept } from '../../../src/core/store/uploads/kept-fit.ts'
import type { UploadDeps } from '../../../src/core/upload/upload-deps.ts'
import { MINUTE } from '../../../src/kit/time.ts'
import { eventually } from '../../kit/eventually.ts'
import { makeRide } from '../../kit/ride.ts'
import { type UploadRig, useUploadRig } from './rig.ts'

const rig = useUploadRig()

const ride = makeRide()
/** More steps than an import has: database reads and writes, and the upload. */
const STEPS = 12

describe.each(['before', 'after'] as const)('a process that dies %s a step', (moment) => {
  it('leaves the next process the same result, with one activity at the service', async () => {
    const ends: string[] = []
    for (let step = 1; step <= STEPS; step++) {
      const bytes = makeRide({ seed: step, start: `2026-05-${String(step).padStart(2, '0')}T08:00:00Z` })
      const name = `ride-${step}.fit`
      const dying = makeDying(rig, { step, moment, contentId: await contentIdOf([bytes]) })
      const first = await rig.importFile(name, bytes, { deps: dying.deps })
      if (!dying.died()) {
        expect(first).toEqual({ action: 'done' })
        ends.push('whole')
        continue
      }
      ends.push((await rig.find(bytes))?.state ?? 'nothing')
      await bringToEnd(name, bytes)
      const own = (await rig.uploaded()).filter((activity) => activity.name === name)
      const row = await rig.find(bytes)
      expect(own).toHaveLength(1)
      expect(row).toMatchObject({ state: 'accepted', activityPath: own[0]?.path })
    }
    // Proves that the steps were reached: each state was left by some crash, and the last steps exceed the import.
    const left = ['nothing', 'seen', 'sending', ...(moment === 'after' ? ['accepted'] : [])]
    expect(new Set(ends)).toEqual(new Set([...left, 'whole']))
  })
})

it('another process takes over only from a sender that is silent for a minute', async () => {
  const gate = new EventEmitter()
  const service = rig.deps.serviceOf(rig.account)
  const slow: UploadDeps = {
    ...rig.deps,
    serviceOf: () => ({
      ...service,
      async uploadFit(file, signal) {
        await once(gate, 'open')
        return service.uploadFit(file, signal)
      },
    }),
  }
  const sending = rig.importFile('ride.fit', ride, { deps: slow })
  await expect.poll(async () => (await rig.find(ride))?.state).toBe('sending')
  await rig.sweep()
  expect(await rig.importFile('ride.fit', ride)).toMatchObject({ action: 'wait' })
  expect(await rig.find(ride)).toMatchObject({ state: 'sending', attempts: 1 })
  rig.ahead(2 * MINUTE)
  await rig.sweep()
  expect(await rig.find(ride)).toMatchObject({ state: 'unconfirmed' })
  gate.emit('open')
  expect(await sending).toEqual({ action: 'done' })
  expect(await rig.find(ride)).toMatchObject({ state: 'accepted', attempts: 1 })
  expect(await rig.uploaded()).toHaveLength(1)
})

/** Does what daemons do in the next half hour: imports the file again, and checks what is due. */
async function bringToEnd(name: string, bytes: Uint8Array): Promise<void> {
  for (let minute = 0; minute < 30; minute++) {
    const outcome = await rig.importFile(name, bytes)
    if (outcome.action === 'done') return
    expect(outcome.action).toBe('wait')
    rig.ahead(MINUTE)
    await rig.sweep()
  }
  throw new Error(`${name} did not come to its end`)
}

/** Makes deps whose process dies before or after its n-th step: nothing of it reaches the database or the service from then on. */
function makeDying(of: UploadRig, input: { step: number; moment: 'before' | 'after'; contentId: string }) {
  let steps = 0
  const isDead = () => steps > input.step
  const at = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isDead()) throw new Error('this process is dead')
    steps += 1
    const dies = steps === input.step
    if (dies && input.moment === 'before') {
      steps += 1
      throw new Error('this process is dead')
    }
    const result = await work()
    if (dies) {
      steps += 1
      throw new Error('this process is dead')
    }
    return result
  }
  const { store } = of.deps
  const dyingStore: Store = {
    ...store,
    read: (fn) => at(() => store.read(fn)),
    transaction: (fn) => at(() => store.transaction(fn)),
  }
  const deps: UploadDeps = {
    ...of.deps,
    store: dyingStore,
    serviceOf: (account) => {
      const service = of.deps.serviceOf(account)
      return {
        ...service,
        uploadFit: (file, signal) =>
          at(async () => {
            const answer = await service.uploadFit(file, signal)
            // The file is kept concurrently; waiting for that makes the next step always the same.
            const key = { accountId: account.accountId, contentId: input.contentId }
            const isKept = async () => (await store.read((tx) => findFitKept(tx, key))).isRead
            await eventually(async () => isDead() || (await isKept()))
            return answer
          }),
      }
    },
  }
  return { deps, died: isDead }
}
