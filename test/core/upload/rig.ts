import { beforeEach } from 'vitest'
import { contentIdOf, readFit } from '../../../src/core/fit/read-fit.ts'
import { mirrorActivity } from '../../../src/core/mirror/mirror-activity.ts'
import type { Account } from '../../../src/core/store/account-rows.ts'
import { findWanted } from '../../../src/core/store/activities/wanted.ts'
import { findDueUploads, findUpload, recordUploadsComplete } from '../../../src/core/store/uploads/uploads.ts'
import { checkUpload } from '../../../src/core/upload/check-upload.ts'
import { importFile } from '../../../src/core/upload/import-file.ts'
import { sendFile } from '../../../src/core/upload/send-file.ts'
import type { UploadDeps } from '../../../src/core/upload/upload-deps.ts'
import { makeUploadDeps } from '../../../src/program/app/files/upload-files.ts'
import { sourceOf } from '../../kit/byte-source.ts'
import { openForAll } from '../../kit/open-for.ts'
import { openRig } from '../mirror/rig.ts'

type RigOptions = { activities?: number; env?: Record<string, string>; databaseUrl?: string }

export type UploadRig = Awaited<ReturnType<typeof openUploadRig>>

/** Opens a sandbox and an App with its own database, and the upload room with an adjustable clock. */
export async function openUploadRig(options: RigOptions = {}) {
  const rig = await openRig({ activities: 0, ...options })
  let aheadMs = 0
  const { app } = rig
  const makeDeps = (): UploadDeps => ({ ...makeUploadDeps(app), now: () => new Date(Date.now() + aheadMs) })
  let deps = makeDeps()
  return {
    ...rig,
    get account() {
      return rig.account
    },
    get deps() {
      return deps
    },
    /** renews the rig, with the current time and no known problem */
    async renew() {
      aheadMs = 0
      deps = makeDeps()
      await rig.renew()
    },
    /** sets the clock of the upload room ahead */
    ahead(ms: number) {
      aheadMs += ms
    },
    /** imports a file that has just arrived, or has been in its place since `restingSince` */
    importFile(
      name: string,
      bytes: Uint8Array,
      more: { deps?: UploadDeps; account?: Account; restingSince?: Date; changedAt?: Date } = {},
    ) {
      const open = async () => ({ ...sourceOf(bytes), check: async () => undefined })
      const now = deps.now()
      return importFile(more.deps ?? deps, {
        account: rig.account,
        name,
        open,
        restingSince: now,
        changedAt: now,
        ...more,
      })
    },
    /** sends a file by force, like a person */
    async force(name: string, bytes: Uint8Array) {
      const fit = await readFit({ name, open: () => sourceOf(bytes).open() }, { settled: true })
      if ('fault' in fit) throw new Error(fit.fault.reason)
      const byForce = { ...deps, knownActivities: 'send' as const }
      return sendFile(byForce, { account: rig.account, fit, again: 'always', byHand: true })
    },
    /** checks every due upload, like the daemon's sweep */
    async sweep() {
      const now = deps.now()
      const due = await app.store.transaction(async (tx) => {
        await recordUploadsComplete(tx, { now })
        return findDueUploads(tx, { now, limit: 100 })
      })
      for (const { contentId } of due) await checkUpload(deps, { account: rig.account, contentId })
    },
    /** fetches everything that is wanted, like the daemon's workers */
    async fetchWanted(of: Account = rig.account) {
      const { accountId } = of
      const wanted = await app.store.read((tx) => findWanted(tx, { accountId, limit: 100, now: deps.now() }))
      for (const activity of wanted) {
        await mirrorActivity(app.mirror, { account: of, activity }).catch(() => undefined)
      }
    },
    async find(bytes: Uint8Array) {
      const contentId = await contentIdOf([bytes])
      const { accountId } = rig.account
      return app.store.read((tx) => findUpload(tx, { accountId, contentId }))
    },
    /** returns the service's activities that came from files */
    async uploaded() {
      type Listed = { path: string; name: string; uploaded: boolean; listed: boolean }
      const { activities } = await rig.steer<{ activities: Listed[] }>('GET', 'activities')
      return activities.filter(({ uploaded, listed }) => uploaded && listed)
    },
    /** returns how many files the service has accepted and refused */
    counts: async () => (await rig.steer<{ uploads: object }>('GET', 'counts')).uploads,
    fault: (fault: Record<string, unknown>) =>
      rig.steer('POST', 'faults', { path: '^/oauth/upload$', ...fault }),
  }
}

/** Opens one rig for all tests of a file, and renews it before each test. */
export function useUploadRig(options: RigOptions = {}): UploadRig {
  const rig = openForAll(() => openUploadRig(options))
  beforeEach(() => rig.renew())
  return rig
}
