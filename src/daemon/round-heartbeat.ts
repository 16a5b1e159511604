import type { App } from '../app/app.ts'
import { commandFor, TransientError } from '../kit/errors.ts'
import { withRun } from '../mirror/mirror.ts'
import { findAccounts } from '../store/account-rows.ts'
import { findUncompared } from '../store/runs.ts'
import { findUploadProblems } from '../store/uploads/upload-problems.ts'
import { findWaitingFiles } from '../store/uploads/waiting-files.ts'
import { sendHeartbeat } from '../webhooks/heartbeat.ts'
import { makeReceivers } from '../webhooks/send.ts'
import { findConditions } from './webhook-conditions.ts'

const RUN = { accountId: null, resource: 'heartbeat', kind: 'schedule' }

/**
 * Tells the monitor of MUSETTE_HEARTBEAT_URL whether logins, polls, uploads, backups and comparisons are in order; nothing while that is not known
 * yet, as after a start. Its run is `partial` when the monitor was told of a problem. Throws TransientError `heartbeat_not_taken`
 * when the monitor did not take it, and the errors of the database.
 */
export async function sendRoundHeartbeat(
  app: Pick<App, 'store' | 'config' | 'log'>,
  input: { startedAt: Date; now: Date; signal: AbortSignal },
): Promise<void> {
  const { store, config, log } = app
  const { heartbeatUrl } = config
  if (heartbeatUrl === undefined) return
  const found = await findProblems(app, input)
  if (found === 'unknown') return
  const problem = found.length > 0 ? found.join('; ') : undefined
  const dispatcher = makeReceivers(config.proxies)
  try {
    await withRun(store, RUN, async (tally) => {
      const { signal } = input
      const { failure, ms } = await sendHeartbeat(heartbeatUrl, { problem, signal, dispatcher })
      if (failure !== undefined)
        throw new TransientError(
          'heartbeat_not_taken',
          `the heartbeat URL (MUSETTE_HEARTBEAT_URL) failed: ${failure}`,
        )
      tally.failed = found.length
      if (problem === undefined) log.debug({ ms }, 'heartbeat: all is in order')
      else log.warn({ ms, problem }, 'heartbeat: the monitor was told that something is not in order')
    })
  } finally {
    await dispatcher.destroy()
  }
}

async function findProblems(
  app: Pick<App, 'store' | 'config'>,
  input: { startedAt: Date; now: Date },
): Promise<string[] | 'unknown'> {
  const conditions = await findConditions(app, input)
  const { accounts, waiting, uploads, uncompared } = await app.store.read(async (tx) => ({
    accounts: await findAccounts(tx),
    waiting: await findWaitingFiles(tx),
    uploads: await findUploadProblems(tx, input.now),
    uncompared: await findUncompared(tx, input.now),
  }))
  const ended = accounts.filter(({ needsLogin }) => needsLogin)
  const wrong = conditions.filter(({ state }) => state === 'wrong')
  const [first] = waiting
  const problems = [
    ...(accounts.length === 0 ? ['there is no account yet; run: musette login'] : []),
    ...ended.map(({ name }) => `account "${name}" needs a login; run: ${commandFor('login', name)}`),
    ...wrong.map(({ kind, account, sentence }) =>
      kind === 'backup'
        ? `${sentence}; run: musette doctor`
        : `account "${account?.name}": ${sentence}; run: musette status`,
    ),
    ...(first
      ? [`${countOf(waiting.length)} in the drop folder (${first.reason}); run: musette status`]
      : []),
    ...(uploads.refused > 0
      ? [`${uploads.refused} of the last day's files were refused; run: musette status`]
      : []),
    ...(uploads.stuck > 0
      ? [`${uploads.stuck} files are not uploaded after hours; run: musette status`]
      : []),
    ...(uncompared > 0
      ? [
          `${uncompared} activities could not be compared with the service in the last day; run: musette status`,
        ]
      : []),
  ]
  if (problems.length > 0) return problems
  const endedNames = new Set(ended.map(({ name }) => name))
  const isOpen = conditions.some(
    ({ state, account }) => state === 'unknown' && !endedNames.has(account?.name ?? ''),
  )
  return isOpen ? 'unknown' : []
}

function countOf(files: number): string {
  return files === 1 ? '1 file waits' : `${files} files wait`
}
