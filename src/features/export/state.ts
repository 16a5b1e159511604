import { findWholeWorkState } from '../../core/store/runs.ts'
import { formatAge, formatDuration, MINUTE } from '../../kit/time.ts'
import { readWritableFolder } from '../../program/frame/findings/check-folder.ts'
import { DATABASE_VARIABLES, type Facts, type FeatureState } from '../../program/frame/findings/facts.ts'
import { type Finding, makeFinding, makeRules, ok } from '../../program/frame/findings/finding.ts'
import { defineGauges } from '../../program/frame/gauges.ts'
import { exportSettings } from './settings.ts'

const RULES = makeRules({
  export_missing: ['warning', 'doctor status', 'musette start'],
  export_failed: ['unexpected', 'doctor status', 'musette export --all --format parquet --to DIR'],
  export_late: ['warning', 'doctor status', 'musette start'],
})

export const exportState: FeatureState = {
  check: 'export',
  variables: [...DATABASE_VARIABLES, 'MUSETTE_EXPORT_DIR', 'MUSETTE_EXPORT_EVERY'],
  rules: RULES,
  judge: judgeExport,
  /** Checks that the history can be exported into its folder, and that the last export is recent. */
  async diagnose({ config, listed }) {
    const { dir } = exportSettings.of(config)
    if (dir === undefined)
      return [ok('MUSETTE_EXPORT_DIR is not set: only musette export --all exports the history')]
    const folder = await readWritableFolder(dir, 'MUSETTE_EXPORT_DIR', 'the history is not exported')
    return 'wrong' in folder ? [folder.wrong] : listed()
  },
  folder: {
    variable: 'MUSETTE_EXPORT_DIR',
    dirOf: (config) => exportSettings.of(config).dir,
    readForeign: async (...folder) => (await import('./export-folder.ts')).readForeignExport(...folder),
  },
}

/** Grace period, ms: longer than a worker is busy, and longer than a daemon is down for an upgrade. */
const EXPORT_LATE_MS = 30 * MINUTE

async function judgeExport(facts: Facts): Promise<Finding[]> {
  const { now } = facts
  const { dir, everyMs } = exportSettings.of(facts.config)
  if (dir === undefined) return []
  const { doneAt, outcome, error } = await facts.read((tx) => findWholeWorkState(tx, 'export'))
  const ago = doneAt && formatAge(doneAt, now)
  if (outcome === 'failed') {
    const last = ago ? `; the folder has the state of ${ago} ago` : ''
    const found = `the last export into ${dir} failed (${error ?? 'no reason'})${last}`
    return [makeFinding(RULES.export_failed, found, { DIR: dir })]
  }
  if (!doneAt)
    return [
      makeFinding(
        RULES.export_missing,
        `nothing has been exported into ${dir} yet; a running daemon does it`,
      ),
    ]
  const found = `${dir}, exported ${ago} ago`
  if (now.getTime() - doneAt.getTime() <= 2 * everyMs + EXPORT_LATE_MS) return [ok(found)]
  const due = `${found}; a running daemon does it every ${formatDuration(everyMs)}`
  return [makeFinding(RULES.export_late, due, { since: doneAt })]
}

export const exportGauges = defineGauges({
  helps: {
    '': {
      musette_export_age_seconds:
        'Seconds since the daemon last exported the whole history; no line before the first export.',
    },
  },
  async read({ read }) {
    const { doneAt } = await read((tx) => findWholeWorkState(tx, 'export'))
    return [{ values: { musette_export_age_seconds: doneAt } }]
  },
})
