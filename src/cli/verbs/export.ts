import type { ExportCounts } from '../../app/export/export-all.ts'
import { EXPORT_FORMATS, type ExportFormat } from '../../app/export/export-formats.ts'
import { EXIT } from '../../frame/context.ts'
import { printTable } from '../../frame/output.ts'
import { writeTo } from '../../frame/standard-streams.ts'
import { defineVerb, flag, option, type Tools } from '../../frame/verb.ts'
import { ConfigError, commandFor, TransientError } from '../../kit/errors.ts'
import { formatCount, quoteShell } from '../../kit/text.ts'

export const addExportVerb = defineVerb({
  name: 'export [path]',
  description: 'write one activity to standard output, or the whole history into a folder',
  options: {
    format: option<ExportFormat>(
      '--format <format>',
      'csv, json (with the activity, and fields that have no column), parquet, or fit, the file that it came from (default: "csv")',
    ).choices(EXPORT_FORMATS),
    owner: option('--account <account>', 'whose activity'),
    all: flag('--all', 'everything of all accounts as Parquet; only what has changed since the last time'),
    dir: option('--to <dir>', 'the folder for --all'),
    originals: flag('--originals', 'with --all: the FIT files too, by date and name'),
    raw: flag('--raw', 'with --all: the answers of the service too, as JSON'),
    check: flag('--check', 'with --all: compare the folder with the database, and write nothing'),
  },
  needs: 'database',
  before(_context, { path, format, owner, all, dir, originals, raw, check }) {
    const isHistory = dir !== undefined && path === undefined && owner === undefined
    if (all && !(isHistory && (format ?? 'parquet') === 'parquet'))
      throw new ConfigError(
        'bad_usage',
        'the history of all accounts is exported as Parquet into a folder; run: musette export --all --format parquet --to DIR',
      )
    if (!all && (path === undefined || dir !== undefined || originals || raw || check))
      throw new ConfigError(
        'bad_usage',
        'name one activity, or export everything: musette export --all --format parquet --to DIR',
      )
    if (!all && (format === 'parquet' || format === 'fit'))
      refuseTerminal(`run: musette export ${quoteShell(path ?? '')} --format ${format} > FILE`)
  },
  async run(tools, { path = '', format = 'csv', owner, all, dir = '', originals, raw, check }) {
    if (check) return checkFolder(tools, dir)
    if (all) {
      const also = [...(originals ? (['originals'] as const) : []), ...(raw ? (['raw'] as const) : [])]
      return exportHistory(tools, dir, also)
    }
    const { app, signal } = tools
    const { findChosenAccount } = await import('../../app/local-app.ts')
    const { exportActivity } = await import('../../app/export/export-activity.ts')
    const name = await findChosenAccount(app, { name: owner, verb: 'export' })
    const why = await exportActivity(app, { name, path, format, write, signal })
    if (why === undefined) return EXIT.done
    tools.note(`musette: ${why}`)
    return EXIT.partial
  },
})

const write = (piece: string | Uint8Array) => writeTo(process.stdout, piece)

function refuseTerminal(instead: string): void {
  if (process.stdout.isTTY)
    throw new ConfigError('bad_usage', `this format is not for a terminal; ${instead}`)
}

async function exportHistory(
  tools: Tools<'database'>,
  dir: string,
  also: ReadonlyArray<'originals' | 'raw'>,
): Promise<number> {
  const { exportAll } = await import('../../app/export/export-all.ts')
  const { app, signal } = tools
  const line = tools.beginProgress('exporting rows')
  const counts = await exportAll(app, { dir, kind: 'by_hand', also, signal, onProgress: line.show })
  if (counts === undefined) {
    const message = 'another process exports the history at this moment; run it again when that is done'
    throw new TransientError('export_busy', message)
  }
  line.finish(`musette: ${sentenceOf(dir, counts)}`)
  const [first, ...more] = counts.foreign
  if (first !== undefined)
    tools.note(
      `musette: ${dir} also holds ${first}${more.length > 0 ? ` and ${more.length} more` : ''}, not of this export; readers count them too, so move them away`,
    )
  return EXIT.done
}

/** How many faults are printed; a folder of another database has thousands. */
const SHOWN = 20

async function checkFolder(tools: Tools<'database'>, dir: string): Promise<number> {
  const { app, signal, print, note } = tools
  const { checkExport, FAULTS } = await import('../../app/export/compare-folder.ts')
  const { files, faults } = await checkExport(app, { dir, signal })
  if (faults.length === 0) {
    print(`${dir}: ${files} files, each as it was written and as the database holds it`)
    return EXIT.done
  }
  for (const { path, why } of faults.slice(0, SHOWN)) print(`${path}: ${FAULTS[why]}`)
  if (faults.length > SHOWN) print(`and ${formatCount(faults.length - SHOWN)} more`)
  const mend = faults.some(({ why }) => why !== 'foreign')
    ? `; run: musette export --all --to ${quoteShell(dir)}`
    : ''
  note(`musette: ${formatCount(faults.length)} of ${formatCount(files)} files differ${mend}`)
  return EXIT.partial
}

function sentenceOf(dir: string, { files, written, removed, samples, bytes, anew }: ExportCounts): string {
  if (files === 0) return `there is nothing to export yet, so ${dir} has no files; run: musette sync`
  const rest = [`${files - written} unchanged`, ...(removed > 0 ? [`${removed} removed`] : [])].join(', ')
  if (written === 0) return `${dir} is up to date: ${files} files${removed > 0 ? `, ${removed} removed` : ''}`
  const size = `${formatCount(samples)} samples, ${(bytes / 1e6).toFixed(1)} MB`
  const why = anew ? '; all of it anew, because what was there is not of this line of the database' : ''
  return `${dir}: ${written} of ${files} files written (${size}), ${rest}${why}`
}

const WORKOUT_FORMATS = ['zwo', 'erg', 'mrc', 'fit', 'json'] as const
const WORKOUT = {
  name: 'workout',
  description: 'the workouts that you saved at the service, as files for a trainer',
}

export const addWorkoutListVerb = defineVerb({
  group: WORKOUT,
  name: 'list',
  description: 'list your workouts, then the default ones',
  options: {
    account: option('--account <account>', 'whose workouts'),
    json: flag('--json', 'as one JSON array'),
  },
  needs: 'database',
  async run(tools, { account, json }) {
    const { findWorkoutLines } = await import('../../app/saved-workouts.ts')
    const lines = await findWorkoutLines(tools.app, { account })
    if (json) tools.printJson(lines)
    else if (lines.length === 0) tools.print(`no workouts are here yet; run: ${commandFor('sync', account)}`)
    else
      printTable(
        tools,
        lines.map(({ name, path, list, seconds }) => ({ name, path, list, time: formatTime(seconds) })),
      )
    for (const { problem } of lines) if (problem !== null) tools.note(`musette: ${problem}`)
    return EXIT.done
  },
})

function formatTime(seconds: number | null): string | null {
  if (seconds === null) return null
  const pad = (part: number) => String(Math.floor(part)).padStart(2, '0')
  return `${Math.floor(seconds / 3_600)}:${pad((seconds % 3_600) / 60)}:${pad(seconds % 60)}`
}

export const addWorkoutExportVerb = defineVerb({
  group: WORKOUT,
  name: 'export [name]',
  description: 'write one workout, or all of your own, by name or path',
  options: {
    format: option<(typeof WORKOUT_FORMATS)[number], never>(
      '--format <format>',
      'watts: erg, fit, json; shares of FTP: zwo, mrc',
    )
      .choices(WORKOUT_FORMATS)
      .makeOptionMandatory(),
    all: flag('--all', 'every workout of your own list'),
    dir: option('--to <dir>', 'the folder; without it one workout goes to standard output'),
    account: option('--account <account>', 'whose workouts'),
  },
  needs: 'database',
  before(_context, { name, format, all = false, dir }) {
    if (all === (name !== undefined) || (all && dir === undefined)) {
      const message = `name one workout, or export all of your own: musette workout export --all --format ${format} --to DIR`
      throw new ConfigError('bad_usage', message)
    }
    if (dir === undefined && format === 'fit') refuseTerminal('name a folder with --to DIR')
  },
  async run({ app, note }, { name, format, dir, account }) {
    const { exportWorkouts, findWorkoutContent } = await import('../../app/saved-workouts.ts')
    if (dir === undefined) {
      await write(await findWorkoutContent(app, { account, name: name ?? '', format }))
      return EXIT.done
    }
    const done = await exportWorkouts(app, { account, name, format, dir })
    const { workouts, written, removed, problems } = done
    for (const problem of problems) note(`musette: ${problem}`)
    const rest = removed.length > 0 ? `, ${removed.length} removed` : ''
    note(
      workouts === 0
        ? `musette: your own list has no workouts yet, so nothing is written into ${dir}${rest}; run: ${commandFor('sync', account)}`
        : `musette: ${dir}: ${written.length} of ${workouts} workouts written as .${format}, ${workouts - written.length - problems.length} unchanged${rest}`,
    )
    return problems.length > 0 ? EXIT.partial : EXIT.done
  },
})
