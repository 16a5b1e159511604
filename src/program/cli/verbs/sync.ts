import type { Verified } from '../../../core/mirror/compare-activities.ts'
import { ConfigError, commandFor, errorCode } from '../../../kit/errors.ts'
import { writeFlushed } from '../../../kit/files.ts'
import { countOf, formatCount, quoteName, shorten } from '../../../kit/text.ts'
import { parseDay } from '../../../kit/time.ts'
import type { App } from '../../app/app.ts'
import type { RebuildCounts } from '../../app/rebuild-account.ts'
import type { SyncCounts, VerifyCounts } from '../../app/sync-account.ts'
import { type Context, EXIT } from '../../frame/context.ts'
import { DATABASE, ITEMS, MIRROR, WHOSE } from '../../frame/help-of-verbs.ts'
import { defineVerb, flag, option } from '../../frame/verb.ts'

export const syncVerb = defineVerb({
  name: 'sync [account]',
  description: 'mirror every known change in one pass, in this process, without the queue',
  options: {
    full: flag(
      '--full',
      'also compare the whole list with the mirror: finds removals, and edits that were missed',
    ),
    acceptRemovals: flag('--accept-removals', 'with --full: accept any number of removed activities'),
    wait: flag('--wait', 'if another process is mirroring the account, wait until it ends'),
    json: flag('--json', 'print the counts as one JSON object'),
  },
  help: {
    notes: [WHOSE],
    settings: [...MIRROR, 'MUSETTE_LAG'],
    exits: ITEMS,
    examples: ['musette sync', 'musette sync partner --full'],
  },
  needs: 'app',
  isPass: true,
  before(_context, { acceptRemovals, full }) {
    if (acceptRemovals && !full)
      throw new ConfigError('bad_usage', '--accept-removals needs --full; run: musette sync --help')
  },
  async run(tools, { account: name, full = false, acceptRemovals = false, wait = false, json }) {
    const { app, signal, note } = tools
    const { asPass, syncAccount } = await import('../../app/sync-account.ts')
    const line = tools.beginProgress('activities')
    const done = await asPass(app, { name, wait, signal, onWait: () => note(WAITS) }, () =>
      syncAccount(app, { name, full, acceptRemovals, training: true, signal, onProgress: line.show }),
    )
    const running = `another process is mirroring it; to wait for that, run: ${commandFor('sync', name)} --wait`
    line.finish(`account "${name}": ${done ? sentenceOf(name, done) : running}`)
    const { listed, fetched, unchanged, absent, failed, pending, unfetched } = done ?? NO_COUNTS
    const result = { account: name, listed, fetched, unchanged, absent, failed, pending }
    if (json) tools.printJson({ ...result, duration_ms: tools.took(), ...(!done && { running: true }) })
    return failed + unfetched > 0 ? EXIT.partial : EXIT.done
  },
})

const NO_COUNTS = { listed: 0, fetched: 0, unchanged: 0, absent: 0, failed: 0, pending: 0, unfetched: 0 }

const WAITS = 'musette: waiting until another process has ended its pass'

/** Describes a pass: new and present activities, and missing activities with the reason and the next command. */
function sentenceOf(name: string, counts: SyncCounts): string {
  const { created, fetched, absent, failed, pending, mirrored, unfetched, newestDay, reason } = counts
  const why = reason === undefined ? '' : ` (${reason})`
  const brought = [
    ...some(created, 'new'),
    ...some(fetched - created, 'changed'),
    ...some(absent, 'no longer at the service'),
  ]
  const newest = newestDay === null ? '' : `, the newest of ${newestDay}`
  return [
    brought.length > 0 ? brought.join(', ') : 'nothing new',
    mirrored === 0 ? 'no activities here yet' : `${countActivities(mirrored)} here${newest}`,
    ...some(pending - unfetched, 'without samples at the service yet'),
    ...some(unfetched, `not fetched yet${why}; run: ${commandFor('sync', name)}`),
    ...some(failed, `failed${unfetched > 0 ? '' : why}; run: musette status`),
  ].join('; ')
}

/** Returns a count with its noun, or nothing for 0. */
function some(count: number, what: string): string[] {
  return count > 0 ? [`${formatCount(count)} ${what}`] : []
}

function countActivities(count: number): string {
  return countOf(count, 'activity', 'activities')
}

export const resyncVerb = defineVerb({
  name: 'resync [paths...]',
  description: 'fetch activities again with every sample, and rewrite them',
  options: {
    since: option(
      '--since <day>',
      'every activity that started on this day or later, in its own local time',
      readDay,
    ),
    account: option('--account <account>', 'whose activities'),
    json: flag('--json', 'print the counts as one JSON object'),
  },
  help: { notes: [WHOSE], settings: MIRROR, exits: ITEMS, examples: ['musette resync --since 2026-01-01'] },
  needs: 'app',
  isPass: true,
  before(_context, { paths, since }) {
    if (paths.length > 0 === (since !== undefined))
      throw new ConfigError(
        'bad_usage',
        'name the paths of the activities, or the first day with --since; run: musette resync --help',
      )
  },
  async run(tools, { paths, since, account, json }) {
    const { app, signal, note } = tools
    const { asPass, resyncAccount } = await import('../../app/sync-account.ts')
    const line = tools.beginProgress('activities')
    const choice = since ? { since } : { paths }
    const done = await asPass(app, { name: account, wait: true, signal, onWait: () => note(WAITS) }, () =>
      resyncAccount(app, { name: account, choice, signal, onProgress: line.show }),
    )
    if (!done) throw new Error('a pass that waits has an end')
    const { reason, ...counts } = done
    const why = reason === undefined ? '' : ` (${reason})`
    const parts = [
      `account "${account}": ${formatCount(counts.fetched)} of ${countActivities(counts.marked)} fetched again`,
      ...some(counts.absent, 'no longer at the service'),
      ...some(counts.failed, `failed${why}; run: musette status`),
    ]
    line.finish(parts.join('; '))
    if (json) tools.printJson({ account, ...counts, duration_ms: tools.took() })
    return counts.failed > 0 ? EXIT.partial : EXIT.done
  },
})

function readDay(text: string): Date {
  const day = parseDay(text)
  if (day) return day
  throw new ConfigError(
    'bad_usage',
    `"${text}" is not a calendar day; write, for example, --since 2024-01-31`,
  )
}

export const rebuildVerb = defineVerb({
  name: 'rebuild [paths...]',
  description:
    'rebuild samples, curves, zones and summaries from the stored answers and FIT files, without the service',
  options: {
    account: option('--account <account>', 'whose activities'),
    json: flag('--json', 'print the counts as one JSON object'),
  },
  help: { notes: [WHOSE], settings: DATABASE, exits: ITEMS, examples: ['musette rebuild'] },
  needs: 'database',
  isPass: true,
  async run(tools, { paths, account, json }) {
    const { rebuildAccount } = await import('../../app/rebuild-account.ts')
    const line = tools.beginProgress('activities')
    const counts = await rebuildAccount(tools.app, {
      name: account,
      paths: paths.length > 0 ? paths : undefined,
      signal: tools.signal,
      onProgress: line.show,
    })
    line.finish(`account "${account}": ${rebuiltSentenceOf(counts, account)}`)
    const { failures, fitFiles, withoutDocument, ...rest } = counts
    const numbers = {
      ...rest,
      fit_files: fitFiles,
      without_document: withoutDocument.length,
      failed: failures.length,
    }
    if (json) tools.printJson({ account, ...numbers, failures, duration_ms: tools.took() })
    const unmet = failures.length + (paths.length > 0 ? withoutDocument.length : 0)
    return unmet > 0 ? EXIT.partial : EXIT.done
  },
})

/** Maximum number of activities that a sentence names. */
const MAX_NAMED = 10

function rebuiltSentenceOf(counts: RebuildCounts, account: string): string {
  const { rebuilt, samples, newer, earlier, failures, fitFiles, withoutDocument } = counts
  const [failure] = failures
  const next = commandFor('resync', account, ...failures.slice(0, MAX_NAMED).map(({ path }) => path))
  const rest = failures.length > MAX_NAMED ? ', then musette rebuild' : ''
  return [
    `${countActivities(rebuilt)} rebuilt from the stored answers (${formatCount(samples)} samples)`,
    ...some(fitFiles, `FIT ${fitFiles === 1 ? 'file' : 'files'} read again`),
    ...(earlier > 0 ? [`${earlier} done by an earlier rebuild that was stopped`] : []),
    ...(newer > 0 ? [`${newer} fetched meanwhile`] : []),
    ...(withoutDocument.length > 0
      ? [`${withoutDocument.length} without a stored answer left as they are (${named(withoutDocument)})`]
      : []),
    ...(failure
      ? [`${failures.length} failed (${quoteName(failure.path)}: ${failure.reason}); run: ${next}${rest}`]
      : []),
  ].join(', ')
}

function named(paths: readonly string[]): string {
  const more = paths.length - MAX_NAMED
  return paths.slice(0, MAX_NAMED).map(quoteName).join(', ') + (more > 0 ? `, … (${more} more)` : '')
}

/** The number of activities to compare by default: a few minutes at the usual pace. */
const SAMPLE = 20
/** Maximum length of a value in a sentence, characters. */
const VALUE_CHARACTERS = 60

export const verifyVerb = defineVerb({
  name: 'verify [paths...]',
  description: 'compare activities with the service, every value of every sample; write nothing',
  options: {
    sample: option('--sample <n>', `this many at random; ${SAMPLE} by default`, readCount),
    all: flag('--all', 'every mirrored activity'),
    repair: flag('--repair', 'record the values of the service if they differ'),
    report: option('--report <file>', 'write a report on the service for a maintainer, without your data'),
    account: option('--account <account>', 'whose activities'),
    json: flag('--json', 'one JSON object per activity, then one with the counts'),
  },
  help: {
    notes: [
      WHOSE,
      'Every value is fetched again, so this takes as long as the first sync of these activities. The daemon compares MUSETTE_SCRUB_PER_DAY a day by itself.',
    ],
    settings: MIRROR,
    exits: ITEMS,
    examples: ['musette verify', 'musette verify --all --repair', 'musette verify 3f0c2b --json'],
  },
  needs: 'app',
  isPass: true,
  before(_context, { paths, sample, all }) {
    if (Number(paths.length > 0) + Number(sample !== undefined) + Number(all ?? false) > 1)
      throw new ConfigError('bad_usage', 'name paths, or --sample, or --all; run: musette verify --help')
  },
  async run(tools, { paths, sample = SAMPLE, all, repair = false, report, account, json }) {
    const { app, signal, print, printJson } = tools
    const { verifyAccount } = await import('../../app/sync-account.ts')
    const ends: Verified[] = []
    const differing: Record<string, number> = {}
    const line = tools.beginProgress('activities')
    const counts = await verifyAccount(app, {
      name: account,
      choice: paths.length > 0 ? { paths } : all ? { all } : { sample },
      repair,
      signal,
      onEnd(end, progress) {
        if (end.result === 'different')
          for (const { field } of end.differences) differing[field] = (differing[field] ?? 0) + 1
        if (json) printJson(end)
        else if (end.result !== 'equal' || end.shortened) ends.push(end)
        line.show(progress)
      },
    })
    line.finish(`account "${account}": ${verifiedSentence(account, counts, repair)}`)
    for (const text of ends.flatMap(differenceLines)) print(text)
    if (json) printJson({ account, ...counts })
    if (report !== undefined) await writeReport(tools, app, { account, path: report, counts, differing })
    return counts.failed + counts.different > 0 ? EXIT.partial : EXIT.done
  },
})

function readCount(text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && count >= 1 && count <= 1_000_000) return count
  throw new ConfigError(
    'bad_usage',
    '--sample takes a whole number of activities; run: musette verify --help',
  )
}

function verifiedSentence(account: string, counts: VerifyCounts, repair: boolean): string {
  const { compared, equal, different, repaired, older, failed } = counts
  if (compared === 0) return `no activity is mirrored yet; run: ${commandFor('sync', account)}`
  return [
    `${formatCount(equal)} of ${formatCount(compared)} activities are the same here and at the service`,
    ...some(
      different,
      repair
        ? `differed, ${formatCount(repaired)} of them are now recorded as at the service`
        : 'differ; add --repair to record the values of the service',
    ),
    ...some(older, 'changed meanwhile'),
    ...some(failed, 'could not be compared'),
  ].join('; ')
}

function differenceLines(end: Verified): string[] {
  if (end.result === 'failed') return [`${quoteName(end.path)}: ${end.reason}`]
  if (end.result === 'equal' && end.shortened)
    return [
      `${quoteName(end.path)}: the same, except for ${end.shortened.join(', ')}, which no column holds whole`,
    ]
  if (end.result !== 'different') return []
  return end.differences.map(({ field, mirrored, service, cells }) => {
    const first = cells > 1 ? `, the first of ${formatCount(cells)} values` : ''
    return `${quoteName(end.path)}: ${field} is ${formatValue(mirrored)} here and ${formatValue(service)} at the service${first}`
  })
}

function formatValue(value: unknown): string {
  return shorten(JSON.stringify(value), VALUE_CHARACTERS)
}

async function writeReport(
  context: Pick<Context, 'note'>,
  app: App,
  input: { account: string; path: string; counts: VerifyCounts; differing: Record<string, number> },
): Promise<void> {
  const { accountNamed } = await import('../../app/local-app.ts')
  const { findServiceReport } = await import('../../app/service-report.ts')
  const { accountId } = await accountNamed({ store: app.mirror.store }, input.account)
  const comparison = { ...input.counts, differing_fields: input.differing }
  const { path } = input
  const made = await findServiceReport(app, { accountId, comparison })
  await writeFlushed(path, `${JSON.stringify(made, undefined, 2)}\n`, 0o600).catch((error) => {
    const code = errorCode(error)
    if (!/^E[A-Z]+$/.test(code)) throw error
    throw new ConfigError('bad_file', `the report cannot be written to ${path} (${code}); name another file`)
  })
  context.note(
    `musette: ${path} has the fields, types and sizes of the service's answers, and none of your data; read it before you share it`,
  )
}
