import { type Command, Option } from 'commander'
import { openApp } from '../../app/app.ts'
import { EXPORT_FORMATS, type ExportFormat, exportActivity } from '../../app/export/export-activity.ts'
import { ConfigError } from '../../kit/errors.ts'
import { type Context, EXIT, type Run } from '../context.ts'

type ExportOptions = { format: ExportFormat; account: string }

/** Adds the verb `export` to the program. */
export function addExportVerb(program: Command, run: Run): void {
  program
    .command('export <path>')
    .description('write the samples of one activity to standard output')
    .addOption(
      new Option(
        '--format <format>',
        'csv, json (with the activity, and fields that have no column) or parquet',
      )
        .choices(EXPORT_FORMATS)
        .default('csv'),
    )
    .option('--account <account>', 'whose activity', 'default')
    .action((path: string, options: ExportOptions) =>
      run((context) => exportTo(process.stdout, context, path, options), { quiet: true }),
    )
}

async function exportTo(
  output: NodeJS.WriteStream,
  context: Context,
  path: string,
  { format, account: name }: ExportOptions,
): Promise<number> {
  if (format === 'parquet' && output.isTTY) {
    const message = `Parquet is not for a terminal; run: musette export ${path} --format parquet > ${path}.parquet`
    throw new ConfigError('bad_usage', message)
  }
  const app = await openApp(context.config, context.log, { signal: context.signal })
  try {
    // Waits until the reader has read the piece. A closed pipe ends the process, as for every verb.
    const write = (piece: string | Uint8Array) =>
      new Promise<void>((resolve, reject) => {
        output.write(piece, (error) => (error ? reject(error) : resolve()))
      })
    const why = await exportActivity(app, { name, path, format, write, signal: context.signal })
    if (why === undefined) return EXIT.done
    context.note(`musette: ${why}`)
    return EXIT.partial
  } finally {
    await app.close()
  }
}
