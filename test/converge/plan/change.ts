import { DAY, MINUTE } from '../../../src/kit/time.ts'
import type { HandClock } from '../world/clock.ts'
import type { TestService } from '../world/service.ts'
import type { Change } from './plan.ts'

const ZONES = [
  { style: 3, name: 'UTC' },
  { style: 3, name: 'America/Toronto' },
  { style: 1, name: 'Europe/Paris' },
  { style: 2, name: 'America/Toronto' },
  { style: 1, name: 'America/St_Johns' },
] as const

const APART_MS = 3_000

/** The service of a run and the paths of what was added to it, oldest first. */
export type Stage = {
  service: TestService
  clock: HandClock
  paths: string[]
  /** the activity whose request is held */
  heldPath?: string | undefined
}

/** Lets a change happen at the service. One of an activity that is not there yet is nothing. */
export async function makeChange(stage: Stage, change: Change): Promise<void> {
  const { steer } = stage.service
  if (change.do === 'add') return addActivity(stage, change)
  if (change.do === 'recalculate') return void (await steer('POST', 'recalculate'))
  const path = pathOf(stage, change.which)
  if (path === undefined) return
  switch (change.do) {
    case 'delete':
      return void (await steer('DELETE', `activities/${path}`))
    case 'revive':
      return void (await steer('POST', `activities/${path}/revive`))
    default:
      await steer('PATCH', `activities/${path}`, await patchOf(stage, change, path))
  }
}

/** The path of one of the activities that were added; undefined while there is none. */
export function pathOf(stage: Stage, which: number): string | undefined {
  if (which < 0) return stage.heldPath
  return stage.paths[which % Math.max(1, stage.paths.length)]
}

async function addActivity(stage: Stage, change: Extract<Change, { do: 'add' }>): Promise<void> {
  const path = `activity${String(stage.paths.length).padStart(4, '0')}`
  const endMs = stage.clock.now().getTime() - change.daysAgo * DAY - change.seconds * 1_000
  // No two begin in one second: a capped list of them could not be had whole, and the mirror would rightly wait.
  const startMs = Math.floor(endMs / MINUTE) * MINUTE - MINUTE + ((APART_MS * stage.paths.length) % MINUTE)
  await stage.service.steer('POST', 'activities', {
    path,
    name: change.text,
    seconds: change.seconds,
    started_at: Math.floor(startMs / 1_000),
    sample_delay_ms: change.delayMin * MINUTE,
    zone: ZONES[change.zone],
    ...(change.odd && {
      summary: { xss: '12.3456789012345678', unheard: { of: ['\u0000', null, 1e-9] }, sig: null },
      sample: { cad: '88', hr: null, unheard_of: 'lone \udc00' },
    }),
  })
  stage.paths.push(path)
}

async function patchOf(
  stage: Stage,
  change: Exclude<Change, { do: 'add' | 'recalculate' | 'delete' | 'revive' }>,
  path: string,
): Promise<Record<string, unknown>> {
  switch (change.do) {
    case 'rename':
      return { name: change.text }
    case 'describe':
      return { description: change.text }
    case 'scale':
      return { scale_power: change.by / 100 }
    case 'extend':
      // A change of the samples shows in the summary, too: by the summary the mirror tells whether to fetch them.
      return { summary: { extension: change.value }, sample: { extension: change.value } }
    case 'move': {
      const { started_at } = await stage.service.steer('GET', `activities/${path}`)
      const startMs = new Date(String(started_at)).getTime() + change.minutes * MINUTE
      return { started_at: Math.floor(Math.min(startMs, stage.clock.now().getTime()) / 1_000) }
    }
    case 'touch': {
      const { name } = await stage.service.steer('GET', `activities/${path}`)
      return { name }
    }
    case 'analyse':
      return { sample_delay_ms: change.minutes * MINUTE }
  }
}
