import { contentIdOf } from '../../../src/core/fit/read-fit.ts'
import { sourceOf } from '../../../src/core/fit/unpack.ts'
import { mirrorActivity } from '../../../src/core/mirror/mirror-activity.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import { findWanted } from '../../../src/core/store/activities/wanted.ts'
import {
  findDueUploads,
  findUpload,
  recordUploadsComplete,
  type Upload,
} from '../../../src/core/store/uploads/uploads.ts'
import { checkUpload } from '../../../src/core/upload/check-upload.ts'
import { type ImportOutcome, importFile } from '../../../src/core/upload/import-file.ts'
import type { UploadDeps } from '../../../src/core/upload/upload-deps.ts'
import { makeUploadDeps } from '../../../src/program/app/files/upload-files.ts'
import { openRig, type Rig } from '../mirror/rig.ts'

export type UploadRig = Omit<Rig, 'fault'> & {
  deps: UploadDeps
  /** sets the clock of the upload room ahead */
  ahead(ms: number): void
  /** imports a file that has just come, or is in its place since `restingSince` */
  importFile(
    name: string,
    bytes: Uint8Array,
    more?: { deps?: UploadDeps; account?: Account; restingSince?: Date; changedAt?: Date },
  ): Promise<ImportOutcome>
  /** checks the status of every due upload, as the daemon's sweep does */
  sweep(): Promise<void>
  /** fetches everything that is wanted, as the daemon's workers do */
  fetchWanted(of?: Account): Promise<void>
  find(bytes: Uint8Array): Promise<Upload | undefined>
  /** the service's activities that came from files */
  uploaded(): Promise<Array<{ path: string; name: string }>>
  fault(fault: Record<string, unknown>): Promise<unknown>
}

/** Opens a sandbox and an App between it and a database of its own, with the upload room on a clock that can be turned. */
export async function openUploadRig(
  options: { activities?: number; env?: Record<string, string> } = {},
): Promise<UploadRig> {
  const rig = await openRig({ activities: 0, ...options })
  let aheadMs = 0
  const deps: UploadDeps = { ...makeUploadDeps(rig.app), now: () => new Date(Date.now() + aheadMs) }
  const { account, app } = rig
  const { accountId } = account
  return {
    ...rig,
    deps,
    ahead(ms) {
      aheadMs += ms
    },
    importFile: (name, bytes, more) =>
      importFile(more?.deps ?? deps, {
        account: more?.account ?? account,
        name,
        open: async () => ({ ...sourceOf(bytes), check: async () => undefined }),
        restingSince: more?.restingSince ?? deps.now(),
        changedAt: more?.changedAt ?? deps.now(),
      }),
    async sweep() {
      const now = deps.now()
      const due = await app.store.transaction(async (tx) => {
        await recordUploadsComplete(tx, { now })
        return findDueUploads(tx, { now, limit: 100 })
      })
      for (const { contentId } of due) await checkUpload(deps, { account, contentId })
    },
    async fetchWanted(of = account) {
      const { accountId } = of
      const wanted = await app.store.read((tx) => findWanted(tx, { accountId, limit: 100, now: deps.now() }))
      for (const activity of wanted) {
        await mirrorActivity(app.mirror, { account: of, activity }).catch(() => undefined)
      }
    },
    async find(bytes) {
      const contentId = await contentIdOf([bytes])
      return app.store.read((tx) => findUpload(tx, { accountId, contentId }))
    },
    async uploaded() {
      const { activities } = await rig.steer('GET', 'activities')
      if (!Array.isArray(activities)) throw new Error('no list of activities')
      return activities.filter(({ uploaded, listed }) => uploaded && listed)
    },
    fault: (fault) => rig.steer('POST', 'faults', { path: '^/oauth/upload$', ...fault }),
  }
}
