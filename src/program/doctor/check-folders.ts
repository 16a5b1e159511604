import { randomUUID } from 'node:crypto'
import { rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openWatch } from '../../core/dropfolder/watch.ts'
import { errorCode, errorLine } from '../../kit/errors.ts'
import { openFolder } from '../../kit/folders/folder.ts'
import { probeDisk } from '../../kit/folders/probe-disk.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { quoteShell } from '../../kit/text.ts'
import { SECOND, sleep } from '../../kit/time.ts'
import { deniedFinding, isAllowed, readFolder, readNearestFolder } from '../frame/findings/check-folder.ts'
import { type Finding, ok, problem, warning } from '../frame/findings/finding.ts'
import type { DoctorContext } from './doctor-context.ts'

/** Checks that files can be dropped, noticed and moved; `probe` is for tests. */
export async function checkDropFolder(
  { config }: Pick<DoctorContext, 'config'>,
  probe: (dir: string) => Promise<ProbeResult> = probeFolder,
): Promise<Finding[]> {
  const { dir, afterUpload, polling } = config.drop
  const folder = await readFolder(dir, 'MUSETTE_DROP_DIR')
  if ('wrong' in folder) return [folder.wrong]
  if (!folder.stats) {
    const isOwn = dir.startsWith(join(config.dataDir, '/'))
    if (isOwn) return [ok(`${dir} is not there yet; musette start makes it`)]
    const found = `${dir} is not there; if it has a disk of its own, mount that: musette start makes an empty folder on the disk that this shows`
    return [warning(found, `df ${quoteShell(await readNearestFolder(dir))}`)]
  }
  if (!(await isAllowed(dir, 'read'))) return [await deniedFinding(dir, 'no file is found')]
  const isWritable = await isAllowed(dir, 'write')
  if (!isWritable && afterUpload === 'move') {
    const found = `${dir} cannot be written, so uploaded files stay in it`
    return [problem('configuration', found, 'export MUSETTE_AFTER_UPLOAD=keep')]
  }
  const findings = afterUpload === 'move' ? await moveFindings(dir, folder.stats.dev) : []
  if (polling) return [...findings, ok(`${dir}, looked through every few seconds`)]
  if (!isWritable) return [...findings, ok(`${dir}, read-only, so its events cannot be tried`)]
  return [...findings, probeFinding(dir, await probe(dir).catch((error: unknown) => ({ error })))]
}

async function moveFindings(dir: string, device: number): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const name of ['done', 'failed']) {
    const stats = await stat(join(dir, name)).catch(() => undefined)
    if (stats && stats.dev !== device) {
      const found = `${join(dir, name)} is on another disk, so files cannot be moved there and stay where they are`
      findings.push(problem('configuration', found, 'export MUSETTE_AFTER_UPLOAD=keep'))
    }
  }
  // Ignore the error here, because the probe of the events reports why no file can be written.
  const disk = await closeAfter(await openFolder(dir), probeDisk).catch(() => undefined)
  if (!disk || (disk.isExclusive && disk.hasLinks)) return findings
  const traits = `has no dependable hard links${disk.ignoresCase ? ' and ignores case' : ''}`
  if (disk.isExclusive)
    return [...findings, ok(`the file system of ${dir} ${traits}, so files are renamed into place`)]
  const found = `the file system of ${dir} may overwrite a file of the same name, so uploaded files stay in the folder`
  return [...findings, problem('configuration', found, 'export MUSETTE_AFTER_UPLOAD=keep')]
}

function probeFinding(dir: string, probed: ProbeResult | { error: unknown }): Finding {
  if ('error' in probed) {
    const found = `${dir}: a file could not be written for a try (${errorLine(probed.error)})`
    return problem('configuration', found, `df -h ${quoteShell(dir)}`)
  }
  if (probed.noticed) return ok(`${dir}, and the system tells of new files`)
  if (errorCode(probed.refused) === 'ENOSPC') {
    const found = `${dir}: the system watches too many files already; new ones are found by a scan every 15 s`
    return warning(found, 'sudo sysctl fs.inotify.max_user_watches=1048576')
  }
  const found = `${dir}: the system does not tell of new files, as on network shares; they are found by a scan each minute`
  return warning(found, 'export MUSETTE_WATCH_POLLING=true')
}

/** `refused` is the system's error if the folder could not be watched, for example ENOSPC if too many folders are watched already. */
export type ProbeResult = { noticed: boolean; refused?: unknown }

/** How long to wait for a notice of a change, ms. A local disk reports it within milliseconds, but on a busy machine the watch may take a while to open. */
const WITHIN_MS = 5 * SECOND

/**
 * Writes a hidden file, which scans ignore, into a folder, and checks whether a watch like that of the drop folder notices it. The file is
 * removed before this resolves. Throws Node's errors if the folder cannot be written. The options are for tests.
 */
export async function probeFolder(dir: string, { watchFolder = openWatch, withinMs = WITHIN_MS } = {}) {
  const name = `.musette-probe-${randomUUID()}`
  const [ready, noticed] = [new AbortController(), new AbortController()]
  /** Waits for one of the two signals, at most `withinMs`, and returns whether it came. */
  const came = async ({ signal }: AbortController) => {
    await sleep(withinMs, signal).catch(() => undefined)
    return signal.aborted
  }
  let refused: unknown
  const watch = watchFolder(
    {
      onHint: (changed) =>
        (changed === undefined ? ready : changed.endsWith(name) ? noticed : undefined)?.abort(),
      onError: (error) => {
        refused ??= error
        ready.abort()
      },
    },
    dir,
  )
  try {
    await came(ready)
    await writeFile(join(dir, name), '', { flag: 'wx', mode: 0o600 })
    return { noticed: await came(noticed), ...(refused !== undefined && { refused }) }
  } finally {
    await rm(join(dir, name), { force: true }).catch(() => undefined)
    await watch.close()
  }
}
