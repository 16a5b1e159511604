import { quoteShell } from '../kit/text.ts'
import { formatAge, formatDuration, MINUTE } from '../kit/time.ts'
import { findWholeWorkState } from '../store/runs.ts'
import { readWritableFolder } from './check-machine.ts'
import type { MirrorContext } from './doctor-context.ts'
import { type Finding, leftOut, ok, problem, warning } from './finding.ts'

/** Longer than a worker is busy, or a daemon is down for a new version. */
const LATE_MS = 30 * MINUTE

/** Checks that the history can be exported into its folder, and that this was done lately. */
export async function checkExport({ config, mirror }: MirrorContext): Promise<Finding[]> {
  const { dir, everyMs } = config.export
  if (dir === undefined)
    return [ok('MUSETTE_EXPORT_DIR is not set: the history is exported by musette export --all only')]
  const folder = await readWritableFolder(dir, 'MUSETTE_EXPORT_DIR', 'the history is not exported')
  if ('wrong' in folder) return [folder.wrong]
  const database = await mirror()
  if ('reason' in database) return [leftOut(database.reason)]
  const { doneAt, outcome, error } = await database.store.read((tx) => findWholeWorkState(tx, 'export'))
  const byHand = `musette export --all --format parquet --to ${quoteShell(dir)}`
  if (outcome === 'failed') {
    const last = doneAt ? `; it has what was there ${formatAge(doneAt)} ago` : ''
    return [
      problem('unexpected', `the last export into ${dir} failed (${error ?? 'no reason'})${last}`, byHand),
    ]
  }
  if (!doneAt)
    return [warning(`nothing was exported into ${dir} yet; a daemon that runs does it`, 'musette start')]
  const isLate = Date.now() - doneAt.getTime() > 2 * everyMs + LATE_MS
  const found = `${dir}, exported ${formatAge(doneAt)} ago`
  return [
    isLate
      ? warning(`${found}; a daemon that runs does it every ${formatDuration(everyMs)}`, 'musette start')
      : ok(found),
  ]
}
