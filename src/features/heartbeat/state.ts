import { findWholeWorkState } from '../../core/store/runs.ts'
import { formatAge, formatDuration } from '../../kit/time.ts'
import {
  DATABASE_VARIABLES,
  type Facts,
  type FeatureState,
  freshMs,
} from '../../program/frame/findings/facts.ts'
import { type Finding, makeFinding, makeRules, ok, type Rule } from '../../program/frame/findings/finding.ts'
import { defineGauges } from '../../program/frame/gauges.ts'
import { heartbeatSettings } from './settings.ts'

const RULES = makeRules({
  heartbeat_missing: ['warning', 'doctor status', 'musette start'],
  heartbeat_reported: ['unexpected', 'doctor status', ''],
  heartbeat_failed: ['unexpected', 'doctor status', 'musette config'],
  heartbeat_late: ['unexpected', 'doctor status', 'musette start'],
})

export const heartbeatState: FeatureState = {
  check: 'heartbeat',
  variables: [...DATABASE_VARIABLES, 'MUSETTE_HEARTBEAT_URL', 'MUSETTE_POLL_EVERY'],
  rules: RULES,
  judge: judgeHeartbeat,
  /**
   * Checks that the monitor accepted the last heartbeats. Sends no heartbeat, because that heartbeat would report a state that was not
   * checked.
   */
  async diagnose({ config, listed }) {
    if (heartbeatSettings.of(config).url !== undefined) return listed()
    return [ok('MUSETTE_HEARTBEAT_URL is not set: no monitor is configured')]
  },
  status: {
    name: 'heartbeat',
    // null if no monitor is configured
    async find(facts, problem) {
      if (heartbeatSettings.of(facts.config).url === undefined) return null
      return { done_at: (await facts.once(findLast)).doneAt, problem: problem?.found ?? null }
    },
  },
}

/** Finds the result of the last heartbeat, and the time of the last success. */
const findLast = ({ read }: Facts) => read((tx) => findWholeWorkState(tx, 'heartbeat'))

async function judgeHeartbeat(facts: Facts): Promise<Finding[]> {
  const { config, now } = facts
  if (heartbeatSettings.of(config).url === undefined) return []
  const { doneAt: since, outcome, error } = await facts.once(findLast)
  const of = (rule: Rule, found: string) => [makeFinding(rule, found, { since })]
  if (outcome === 'failed') return of(RULES.heartbeat_failed, error ?? 'the last heartbeat failed')
  if (outcome === 'partial')
    return of(
      RULES.heartbeat_reported,
      'the monitor was told that something is wrong; status and the log say what',
    )
  if (!since)
    return of(RULES.heartbeat_missing, 'no heartbeat has been sent yet; a running daemon sends them')
  const ago = formatAge(since, now)
  if (now.getTime() - since.getTime() <= freshMs(config))
    return [ok(`the monitor was told ${ago} ago that all is in order`)]
  const due = `one is due every ${formatDuration(config.mirror.pollEveryMs)}`
  return of(RULES.heartbeat_late, `the last heartbeat is ${ago} old, and ${due}`)
}

export const heartbeatGauges = defineGauges({
  helps: {
    '': {
      musette_heartbeat_age_seconds:
        'Seconds since the monitor of MUSETTE_HEARTBEAT_URL was last told that all is in order; no line before the first time.',
    },
  },
  async read(facts) {
    if (heartbeatSettings.of(facts.config).url === undefined) return []
    const { doneAt } = await facts.once(findLast)
    return [{ values: { musette_heartbeat_age_seconds: doneAt } }]
  },
})
