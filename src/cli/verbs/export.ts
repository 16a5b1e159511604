import { type Command, Option } from 'commander'
import type { ExportCounts } from '../../app/export/export-all.ts'
import { EXPORT_FORMATS, type ExportFormat } from '../../app/export/export-formats.ts'
import type { LocalApp } from '../../app/local-app.ts'
import { ConfigError, TransientError } from '../../kit/errors.ts'
import { formatCount } from '../../kit/text.ts'
import { type Context, EXIT, type Run } from '../context.ts'
import { makeProgressLine } from '../progress.ts'

type ExportOptions = { format?: ExportFormat; account?: string; all?: boolean; to?: string }

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
    .action((path: string | undefined, options: ExportOptions) =>
      run((context) => exportTo(process.stdout, context, path, options), { quiet: true }),
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
  if (path === undefined || to !== undefined) {
    const message = 'name one activity, or export everything: musette export --all --format parquet --to DIR'
    throw new ConfigError('bad_usage', message)
  }
  if ((format === 'parquet' || format === 'fit') && output.isTTY) {
    const message = `this format is not for a terminal; run: musette export ${path} --format ${format} > ${path}.${format}`
    throw new ConfigError('bad_usage', message)
  }
  const { exportActivity } = await import('../../app/export/export-activity.ts')
  const { findChosenAccount } = await import('../../app/local-app.ts')
  return withApp(context, async (app) => {
    // Waits until the reader has read the piece. A closed pipe ends the process, as for every verb.
    const write = (piece: string | Uint8Array) =>
      new Promise<void>((resolve, reject) => {
        output.write(piece, (error) => (error ? reject(error) : resolve()))
      })
    const name = await findChosenAccount(app, { name: account, verb: 'export' })
    const why = await exportActivity(app, { name, path, format, write, signal: context.signal })
    if (why === undefined) return EXIT.done
    context.note(`musette: ${why}`)
    return EXIT.partial
  })
}

async function exportHistory(
  context: Context,
  path: string | undefined,
  { format = 'parquet', account, to: dir }: ExportOptions,
): Promise<number> {
  if (dir === undefined || path !== undefined || account !== undefined || format !== 'parquet') {
    const message =
      'the history of all accounts is exported as Parquet into a folder; run: musette export --all --format parquet --to DIR'
    throw new ConfigError('bad_usage', message)
  }
  const { exportAll } = await import('../../app/export/export-all.ts')
  return withApp(context, async (app) => {
    const progress = makeProgressLine(context, 'exporting rows')
    try {
      const { signal } = context
      const counts = await exportAll(app, { dir, kind: 'by_hand', signal, onProgress: progress.show })
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
    } finally {
      progress.close()
    }
  })
}

function sentenceOf(dir: string, { files, written, removed, samples, bytes }: ExportCounts): string {
  if (files === 0) return `there is nothing to export yet, so ${dir} has no files; run: musette sync`
  const rest = [`${files - written} unchanged`, ...(removed > 0 ? [`${removed} removed`] : [])].join(', ')
  if (written === 0) return `${dir} is up to date: ${files} files${removed > 0 ? `, ${removed} removed` : ''}`
  const size = `${formatCount(samples)} samples, ${(bytes / 1e6).toFixed(1)} MB`
  return `${dir}: ${written} of ${files} files written (${size}), ${rest}`
}

async function withApp(context: Context, work: (app: LocalApp) => Promise<number>): Promise<number> {
  const { openLocalApp } = await import('../../app/local-app.ts')
  const app = await openLocalApp(context.config, context.log, context.signal)
  try {
    return await work(app)
  } finally {
    await app.close()
  }
}
