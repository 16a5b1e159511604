import { stat, statfs } from 'node:fs/promises'
import { type Finding, leftOut, ok, problem, warning } from '../finding.ts'
import type { Patient } from '../patient.ts'
import { formatBytes } from '../sizes.ts'
import { findExisting, quote } from './folder.ts'

const MEGABYTE = 1_000_000
/** Postgres stops when its disk is full, and its log of changes alone may grow to half a gigabyte. */
const PROBLEM_BELOW = 600 * MEGABYTE
/** Some thousand rides: time enough for a person to see the warning. */
const WARNING_BELOW = 3_000 * MEGABYTE

/** Looks how much room is left on each disk that musette writes to; `space` is for tests. */
export async function checkDiskSpace(
  { config }: Pick<Patient, 'config'>,
  space: typeof statfs = statfs,
): Promise<Finding[]> {
  const folders = [config.dataDir, config.drop.dir, ...(config.workoutDir ? [config.workoutDir] : [])]
  const disks = new Map<number, string>()
  for (const folder of folders) {
    const existing = await findExisting(folder)
    const { dev } = await stat(existing)
    if (!disks.has(dev)) disks.set(dev, existing)
  }
  return Promise.all([...disks.values()].map((folder) => judgeDisk(folder, space)))
}

async function judgeDisk(folder: string, space: typeof statfs): Promise<Finding> {
  const { blocks, bavail, bsize, files, ffree } = await space(folder)
  // What has no size of its own (a share that does not tell) cannot be judged.
  if (blocks === 0) return leftOut(`the disk of ${folder} does not tell its size`)
  const free = bavail * bsize
  const found = `${formatBytes(free)} free on the disk of ${folder}`
  const run = `df -h ${quote(folder)}`
  // Some file systems count no files at all.
  if (files > 0 && ffree === 0)
    return problem('unexpected', `no file can be added on the disk of ${folder}`, run)
  if (free < PROBLEM_BELOW) return problem('unexpected', `only ${found}; make room`, run)
  return free < WARNING_BELOW ? warning(`${found}; make room`, run) : ok(found)
}
