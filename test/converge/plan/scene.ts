import { randomBytes } from 'node:crypto'
import { DAY, MINUTE } from '../../../src/kit/time.ts'
import { makeSilentLog } from '../../kit/log.ts'
import { openTogether } from '../../kit/open-together.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { makeHandClock } from '../world/clock.ts'
import type { RunDatabase } from '../world/database.ts'
import { type Ground, type MirrorProcess, openProcess } from '../world/process.ts'
import { openTestService } from '../world/service.ts'
import type { Stage } from './change.ts'

/** Longer than the oldest activity of a plan; reconcile lists it year by year. */
const HISTORY_MS = 5 * 365 * DAY

/** Everything of one run: the service, the database, and two workers of the mirror that come and go. */
export type Scene = Awaited<ReturnType<typeof openScene>>

/** Opens a run on an emptied database: a service with a rider who has done nothing, and an account signed in to it. */
export async function openScene(database: RunDatabase, options: { lagMin: number }) {
  return openTogether(async (keep) => {
    await database.reset()
    const clock = makeHandClock(new Date())
    const service = await keep(openTestService(clock))
    const spool = await keep(openTempDir('converge'))
    const ground: Ground = {
      databaseUrl: database.url,
      terminate: database.terminate,
      serviceUrl: service.url,
      spoolDir: spool.path,
      secretKey: randomBytes(32),
      clock,
      lagMs: options.lagMin * MINUTE,
      historyStart: new Date(clock.now().getTime() - HISTORY_MS),
      log: makeSilentLog(),
    }
    const workers: Array<MirrorProcess | undefined> = []
    const worker = async (index: 0 | 1) => {
      const running = workers[index] ?? (await openProcess(ground, { impatient: true }))
      workers[index] = running
      return running
    }
    const drop = async (index: 0 | 1) => {
      const running = workers[index]
      workers[index] = undefined
      await running?.close()
    }
    await keep({ close: () => Promise.all([drop(0), drop(1)]) })
    const openPatient = () => openProcess(ground, { impatient: false })
    const patient = await openPatient()
    const account = await patient.signIn().finally(() => patient.close())
    const stage: Stage = { service, clock, paths: [] }
    const complaints: string[] = []
    return Object.assign(stage, {
      database,
      account,
      /** errors on the way that the mirror has no word for */
      complaints,
      /** a worker's process, started when it does not run */
      worker,
      /** lets a worker's process go, as it is */
      drop,
      /** starts a process that waits for answers as long as they take */
      openPatient,
      /** the furthest that the service's clock was ahead since the mirror saw it go back */
      skew: { highestMs: 0 },
      /** how far the service's clock may be set back before the mirror has to see it, in ms */
      lagMs: ground.lagMs,
    })
  })
}
