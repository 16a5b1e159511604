import { MINUTE } from '../../../src/kit/time.ts'
import { pathOf, type Stage } from './change.ts'
import type { FaultKind, FaultPlace, Step, Trouble } from './plan.ts'

export const isTrouble = (step: Step): step is Trouble =>
  ['break', 'fault', 'cap', 'expire', 'wait', 'skew'].includes(step.do)

export async function makeTrouble(stage: Stage, trouble: Trouble): Promise<void> {
  const { steer } = stage.service
  switch (trouble.do) {
    case 'break': {
      const path = pathOf(stage, trouble.which)
      if (path) await steer('PATCH', `activities/${path}`, { broken: trouble.how })
      return
    }
    case 'fault':
      return void (await steer('POST', 'faults', {
        ...PLACES[trouble.on],
        ...(FAULTS[trouble.kind] ?? { kind: trouble.kind }),
        times: trouble.times,
      }))
    case 'cap':
      return void (await steer('PATCH', 'settings', { list_cap: trouble.cap }))
    case 'skew':
      if (trouble.side === 'own') stage.clock.setOwnSkew(trouble.minutes * MINUTE)
      else await steer('PATCH', 'settings', { clock_skew_ms: trouble.minutes * MINUTE })
      return
    case 'expire':
      return void (await steer('POST', 'tokens/expire'))
    case 'wait':
      stage.clock.advance(trouble.minutes * MINUTE)
  }
}

/** Ends every trouble but what is lost for good: faults, broken answers, wrong clocks. */
export async function endTrouble(stage: Stage): Promise<void> {
  const { steer } = stage.service
  await steer('DELETE', 'faults')
  await steer('PATCH', 'settings', { clock_skew_ms: 0 })
  stage.clock.setOwnSkew(0)
  for (const path of stage.paths) await steer('PATCH', `activities/${path}`, { broken: null })
}

const PLACES: Readonly<Record<FaultPlace, { method: string; path: string }>> = {
  list: { method: 'GET', path: '^/oauth/activity$' },
  detail: { method: 'GET', path: '^/oauth/activity/' },
  token: { method: 'POST', path: '^/oauth/token$' },
}

const status = (status: number, more = {}) => ({ kind: 'status', status, ...more })
/** What the sandbox is asked for; the other kinds have its own names. */
const FAULTS: Readonly<Partial<Record<FaultKind, Record<string, unknown>>>> = {
  500: status(500),
  503: status(503),
  429: status(429, { retry_after: 90 }),
  'cut-json': status(200, { body: '{"success":true,"activities":[{"path":"activ' }),
  hollow: status(200, { body: { success: true } }),
  refused: status(200, { body: { success: false } }),
  'bad-entry': status(200, { body: { success: true, activities: [{ name: 'no path' }] } }),
}
