import type { Config } from '../../config/config.ts'
import { backupSettings } from '../../features/backup/settings.ts'
import { findPublisherState } from '../../features/mqtt/mqtt-publisher.ts'
import { findWebhookStates } from '../../features/webhooks/known-webhooks.ts'
import { errorLine } from '../../kit/errors.ts'
import { findAccountStatuses } from '../../store/account-status.ts'
import { findIdentity } from '../../store/database-facts.ts'
import { findAccountHealth } from '../../store/health.ts'
import { findUncompared, findWholeWorkState } from '../../store/runs.ts'
import type { Tx } from '../../store/store.ts'
import { findWaitingFiles } from '../../store/uploads/waiting-files.ts'
import type { App } from '../app.ts'

/** The state of the database and of the folders at one moment. Each part is read when it is first used, and once. */
export type Facts = ReturnType<typeof makeFacts>

/** Makes the facts of the moment `now`; what only one query uses it reads by `read`. */
export function makeFacts({ config, store }: Pick<App, 'config' | 'store'>, now: Date) {
  const part = <T>(find: (tx: Tx) => Promise<T>) => once(() => store.read(find))
  const identity = part(findIdentity)
  const newestBackup = once(async () => {
    const { dir } = backupSettings.of(config)
    if (dir === undefined) return { newest: undefined, unreadable: undefined }
    const { readNewestBackup } = await import('../../backup/backup-folder.ts')
    const { line } = await identity()
    return await readNewestBackup({ dir, line }).then(
      (newest) => ({ newest, unreadable: undefined }),
      (error: unknown) => ({ newest: undefined, unreadable: errorLine(error) }),
    )
  })
  return {
    ...{ config, now, identity, read: store.read },
    health: part(findAccountHealth),
    statuses: part(findAccountStatuses),
    uncompared: part((tx) => findUncompared(tx, now)),
    waiting: part(findWaitingFiles),
    export: part((tx) => findWholeWorkState(tx, 'export')),
    heartbeat: part((tx) => findWholeWorkState(tx, 'heartbeat')),
    mqtt: part(findPublisherState),
    webhooks: part(findWebhookStates),
    shared: once(async () => {
      const { readSharedFolders } = await import('../report/shared-folders.ts')
      return readSharedFolders(config, await identity())
    }),
    /** the newest backup that lies in the folder now, whatever the runs say; `unreadable` is why the folder cannot be read */
    newestBackup,
    /** the same with the runs that make and verify backups */
    backups: once(async () => {
      const { dir } = backupSettings.of(config)
      if (dir === undefined) return undefined
      const { VERIFY_EVERY_MS } = await import('../../backup/backup-folder.ts')
      const { lineBeganAt } = await identity()
      const { newest, unreadable } = await newestBackup()
      const made = await store.read((tx) => findWholeWorkState(tx, 'backup'))
      const verified = await store.read((tx) => findWholeWorkState(tx, 'backup-verify'))
      return { dir, newest, unreadable, made, verified, lineBeganAt, verifyEveryMs: VERIFY_EVERY_MS }
    }),
  }
}

/** The age, in poll intervals, up to which a poll is fresh: a poll may be late because it waits for the service. */
const FRESH_INTERVALS = 3

/** Returns the age of the last good poll, ms, from which an account counts as late. */
export function freshMs(config: Pick<Config, 'mirror'>): number {
  return FRESH_INTERVALS * config.mirror.pollEveryMs
}

function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined
  return () => {
    found ??= find()
    return found
  }
}
