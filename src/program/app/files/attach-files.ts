import { describeFault } from '../../../core/fit/archive.ts'
import { readFit } from '../../../core/fit/read-fit.ts'
import { updateTimeZones } from '../../../core/mirror/time-zones.ts'
import { findCursor } from '../../../core/store/runs.ts'
import { findUpload } from '../../../core/store/uploads/uploads.ts'
import { attachFile, findRecorded } from '../../../core/upload/attach-file.ts'
import { keepWhole } from '../../../core/upload/keep-fit.ts'
import { ConfigError, commandFor } from '../../../kit/errors.ts'
import type { App } from '../app.ts'
import { accountNamed } from '../local-app.ts'
import { faultOf, type NamedFit, scanNamed, unpackNamed } from './named-files.ts'
import { makeUploadDeps } from './upload-files.ts'

/** The result for one FIT file. `passed_over`: the file is not an activity; `known`: the ledger has the file with this activity. */
export type AttachedFile = {
  file: string
  result: 'attached' | 'known' | 'not_attached' | 'passed_over'
  activity: string | null
  reason: string | null
}

/**
 * Attaches FIT files, also from folders and archives, to activities that are already mirrored, see findRecorded. With `dryRun`, changes
 * nothing. Sends no request to the service and uploads nothing. After a crash, attached files stay attached, and the next call continues.
 * Throws ConfigError `no_account`, `not_mirrored` and `no_file`, the signal's reason, and the errors of the database.
 */
export async function attachFiles(
  app: Pick<App, 'config' | 'store' | 'log' | 'mirror'>,
  input: { account: string; paths: readonly string[]; dryRun: boolean; signal: AbortSignal },
  onEnd: (end: AttachedFile, progress: { done: number; total: number }) => void,
): Promise<void> {
  const { store } = app
  const { paths, dryRun, signal } = input
  const account = await accountNamed(app, input.account)
  const { accountId } = account
  const deps = makeUploadDeps(app)
  const sync = commandFor('sync', account.name)
  if (!(await store.read((tx) => findCursor(tx, { accountId, resource: 'activities' }))))
    throw new ConfigError('not_mirrored', `no activities of "${account.name}" are mirrored yet; run: ${sync}`)
  const files: NamedFit[] = []
  for (const named of await scanNamed(paths)) for (const fit of await unpackNamed(named)) files.push(fit)
  for (const [index, file] of files.entries()) {
    signal.throwIfAborted()
    const end = await attachOne(file)
    onEnd({ file: file.path, activity: null, reason: null, ...end }, { done: index + 1, total: files.length })
  }
  if (!dryRun) await updateTimeZones(app, account)

  async function attachOne(file: NamedFit): Promise<Pick<AttachedFile, 'result'> & Partial<AttachedFile>> {
    const fit = 'fault' in file ? file : await readFit(file, { settled: true }).catch(faultOf)
    if ('fault' in fit) return { result: 'not_attached', reason: describeFault(fit.fault) }
    const { verdict: whole, contentId } = fit
    if (whole.verdict !== 'whole') {
      const isOther = whole.verdict === 'refused' && whole.code === 'not_activity'
      return { result: isOther ? 'passed_over' : 'not_attached', reason: whole.reason }
    }
    const before = await store.read((tx) => findUpload(tx, { accountId, contentId }))
    if (before && before.state !== 'seen' && before.state !== 'refused' && before.activityId !== null) {
      if (!dryRun) await keepWhole(deps, { account, fit })
      const reason = `${before.state} as "${before.fileName}"`
      return { result: 'known', activity: before.activityPath, reason }
    }
    const found = await findRecorded(deps, { account, fit, whole })
    if (!found.activity)
      return { result: 'not_attached', reason: `${found.reason}${found.isAwaited ? `; run: ${sync}` : ''}` }
    const { path: activity } = found.activity
    if (dryRun) return { result: 'attached', activity }
    const { upload, isKept } = await attachFile(deps, { account, fit, whole }, found.activity)
    if (upload.state === 'attached' && isKept) return { result: 'attached', activity }
    return { result: 'not_attached', activity, reason: 'its content could not be stored now; run it again' }
  }
}
