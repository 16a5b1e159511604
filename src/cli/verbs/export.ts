import { type Command, Option } from 'commander'
import type { ExportCounts } from '../../app/export/export-all.ts'
import { EXPORT_FORMATS, type ExportFormat } from '../../app/export/export-formats.ts'
import { ConfigError, TransientError } from '../../kit/errors.ts'
import { formatCount, quoteShell } from '../../kit/text.ts'
import { type Context, EXIT, type Run } from '../context.ts'
import { printTable } from '../output.ts'
import { writeTo } from '../standard-streams.ts'
import { withLocalAccount, withLocalApp, withProgress } from '../with-app.ts'

type ExportOptions = {
  format?: ExportFormat
  account?: string
  all?: boolean
  to?: string
  originals?: boolean
  raw?: boolean
  check?: boolean
}

/** Adds the verb `export` to the program. */
export function addExportVerb(program: Command, run: Run): void {
  program
    .command('export [path]')
    .description('write one activity to standard output, or the whole history into a folder')
    .addOption(
      new Option(
        '--format <format>',
        'csv, json (with the activity, and fields that have no column), parquet, or fit, the file that it came from (default: "csv")',
      ).choices(EXPORT_FORMATS),
    )
    .option('--account <account>', 'whose activity')
    .option('--all', 'everything of all accounts as Parquet; only what has changed since the last time')
    .option('--to <dir>', 'the folder for --all')
    .option('--originals', 'with --all: the FIT files too, by date and name')
    .option('--raw', 'with --all: the answers of the service too, as JSON')
    .option('--check', 'with --all: compare the folder with the database, and write nothing')
    .action((path: string | undefined, options: ExportOptions) =>
      run((context) => exportTo(process.stdout, context, path, options)),
    )
}

async function exportTo(
  output: NodeJS.WriteStream,
  context: Context,
  path: string | undefined,
  options: ExportOptions,
): Promise<number> {
  if (options.all) return exportHistory(context, path, options)
  const { format = 'csv', account, to } = options
  const { originals, raw, check } = options
  if (path === undefined || to !== undefined || originals || raw || check) {
    const message = 'name one activity, or export everything: musette export --all --format parquet --to DIR'
    throw new ConfigError('bad_usage', message)
  }
  if ((format === 'parquet' || format === 'fit') && output.isTTY) {
    const message = `this format is not for a terminal; run: musette export ${path} --format ${format} > ${path}.${format}`
    throw new ConfigError('bad_usage', message)
  }
  const { exportActivity } = await import('../../app/export/export-activity.ts')
  return withLocalAccount(context, { account, verb: 'export' }, async (app, name) => {
    const write = (piece: string | Uint8Array) => writeTo(output, piece)
    const why = await exportActivity(app, { name, path, format, write, signal: context.signal })
    if (why === undefined) return EXIT.done
    context.note(`musette: ${why}`)
    return EXIT.partial
  })
}

async function exportHistory(
  context: Context,
  path: string | undefined,
  { format = 'parquet', account, to: dir, originals, raw, check }: ExportOptions,
): Promise<number> {
  if (dir === undefined || path !== undefined || account !== undefined || format !== 'parquet') {
    const message =
      'the history of all accounts is exported as Parquet into a folder; run: musette export --all --format parquet --to DIR'
    throw new ConfigError('bad_usage', message)
  }
  if (check) return checkFolder(context, dir)
  const { exportAll } = await import('../../app/export/export-all.ts')
  return withLocalApp(context, (app) =>
    withProgress(context, 'exporting rows', async (progress) => {
      const { signal } = context
      const also = [...(originals ? (['originals'] as const) : []), ...(raw ? (['raw'] as const) : [])]
      const counts = await exportAll(app, { dir, kind: 'by_hand', also, signal, onProgress: progress.show })
      if (counts === undefined) {
        const message = 'another process exports the history at this moment; run it again when that is done'
        throw new TransientError('export_busy', message)
      }
      progress.finish(`musette: ${sentenceOf(dir, counts)}`)
      if (counts.foreign.length > 0) {
        context.note(
          `musette: ${dir} also holds ${counts.foreign[0]}${counts.foreign.length > 1 ? ` and ${counts.foreign.length - 1} more` : ''}, not of this export; readers count them too, so move them away`,
        )
      }
      return EXIT.done
    }),
  )
}

/** How many faults are printed; a folder of another database has thousands. */
const SHOWN = 20

async function checkFolder(context: Context, dir: string): Promise<number> {
  const { checkExport, FAULTS } = await import('../../app/export/compare-folder.ts')
  const { signal } = context
  return withLocalApp(context, async (app) => {
    const { files, faults } = await checkExport(app, { dir, signal })
    if (faults.length === 0) {
      context.print(`${dir}: ${files} files, each as it was written and as the database holds it`)
      return EXIT.done
    }
    for (const { path, why } of faults.slice(0, SHOWN)) context.print(`${path}: ${FAULTS[why]}`)
    if (faults.length > SHOWN) context.print(`and ${formatCount(faults.length - SHOWN)} more`)
    const mend = faults.some(({ why }) => why !== 'foreign')
      ? `; run: musette export --all --to ${quoteShell(dir)}`
      : ''
    context.note(`musette: ${formatCount(faults.length)} of ${formatCount(files)} files differ${mend}`)
    return EXIT.partial
  })
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
type WorkoutFormat = (typeof WORKOUT_FORMATS)[number]
type WorkoutOptions = { format: WorkoutFormat; account?: string; all?: boolean; to?: string }

/** Adds the verbs `workout list` and `workout export` to the program. */
export function addWorkoutVerbs(program: Command, run: Run): void {
  const workout = program
    .command('workout')
    .description('the workouts that you saved at the service, as files for a trainer')
  workout
    .command('list')
    .description('list your workouts, then the default ones')
    .option('--account <account>', 'whose workouts')
    .option('--json', 'as one JSON array')
    .action((options: { account?: string; json?: boolean }) =>
      run((context) => listWorkouts(context, options)),
    )
  workout
    .command('export [name]')
    .description('write one workout, or all of your own, by name or path')
    .addOption(
      new Option('--format <format>', 'watts: erg, fit, json; shares of FTP: zwo, mrc')
        .choices(WORKOUT_FORMATS)
        .makeOptionMandatory(),
    )
    .option('--all', 'every workout of your own list')
    .option('--to <dir>', 'the folder; without it one workout goes to standard output')
    .option('--account <account>', 'whose workouts')
    .action((name: string | undefined, options: WorkoutOptions) =>
      run((context) => exportWorkoutsTo(process.stdout, context, name, options)),
    )
}

async function listWorkouts(
  context: Context,
  { account, json = false }: { account?: string; json?: boolean },
): Promise<number> {
  const { findWorkoutLines } = await import('../../app/saved-workouts.ts')
  return withLocalAccount(context, { account, verb: 'workout list' }, async (app, name) => {
    const lines = await findWorkoutLines(app, { account: name })
    if (json) context.printJson(lines)
    else if (lines.length === 0) context.print('no workouts are mirrored yet; run: musette sync')
    else
      printTable(
        context,
        lines.map(({ name, path, list, seconds }) => ({ name, path, list, time: formatTime(seconds) })),
      )
    for (const { problem } of lines) if (problem !== null) context.note(`musette: ${problem}`)
    return EXIT.done
  })
}

function formatTime(seconds: number | null): string | null {
  if (seconds === null) return null
  const pad = (part: number) => String(Math.floor(part)).padStart(2, '0')
  return `${Math.floor(seconds / 3_600)}:${pad((seconds % 3_600) / 60)}:${pad(seconds % 60)}`
}

async function exportWorkoutsTo(
  output: NodeJS.WriteStream,
  context: Context,
  name: string | undefined,
  { format, account, all = false, to: dir }: WorkoutOptions,
): Promise<number> {
  if (all === (name !== undefined) || (all && dir === undefined)) {
    const message = `name one workout, or export all of your own: musette workout export --all --format ${format} --to DIR`
    throw new ConfigError('bad_usage', message)
  }
  const chosen = { account, verb: 'workout export' } as const
  const { exportWorkouts, findWorkoutContent } = await import('../../app/saved-workouts.ts')
  if (dir === undefined && name !== undefined) {
    if (format === 'fit' && output.isTTY) {
      const message = 'this format is not for a terminal; name a folder with --to DIR'
      throw new ConfigError('bad_usage', message)
    }
    return withLocalAccount(context, chosen, async (app, owner) => {
      const content = await findWorkoutContent(app, { account: owner, name, format })
      await writeTo(output, content)
      return EXIT.done
    })
  }
  return withLocalAccount(context, chosen, async (app, owner) => {
    const folder = dir ?? ''
    const done = await exportWorkouts(app, { account: owner, name, format, dir: folder })
    const { workouts, written, removed, problems } = done
    for (const problem of problems) context.note(`musette: ${problem}`)
    const rest = removed.length > 0 ? `, ${removed.length} removed` : ''
    context.note(
      workouts === 0
        ? `musette: your own list has no workouts yet, so nothing is written into ${folder}${rest}; run: musette sync`
        : `musette: ${folder}: ${written.length} of ${workouts} workouts written as .${format}, ${workouts - written.length - problems.length} unchanged${rest}`,
    )
    return problems.length > 0 ? EXIT.partial : EXIT.done
  })
}
