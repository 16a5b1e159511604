import { ConfigError, TransientError } from '../../kit/errors.ts'
import { formatCount, quoteShell } from '../../kit/text.ts'
import { EXIT } from '../../program/frame/context.ts'
import { defineFeature } from '../../program/frame/define-feature.ts'
import { DATABASE, ITEMS, WHOSE } from '../../program/frame/help-of-verbs.ts'
import { refuseTerminal, writeOut } from '../../program/frame/standard-streams.ts'
import { defineVerb, flag, option, type Tools } from '../../program/frame/verb.ts'
import type { ExportCounts } from './export-all.ts'
import { ALSO, type Also, EXPORT_FORMATS, type ExportFormat, isTrackFormat } from './export-formats.ts'

const exportVerb = defineVerb({
  name: 'export [path]',
  description: 'write one activity to standard output, or the whole history into a folder',
  options: {
    format: option<ExportFormat>(
      '--format <format>',
      'csv, json (with the activity, and fields that have no column), parquet, fit (the file that it came from), or as a track gpx, tcx, geojson (default: "csv", of --tracks "gpx")',
    ).choices(EXPORT_FORMATS),
    owner: option('--account <account>', 'whose activity'),
    all: flag(
      '--all',
      'everything of all accounts as Parquet; writes only what has changed since the last time',
    ),
    dir: option('--to <dir>', 'the folder for --all'),
    tracks: option('--tracks <dir>', 'with --all: a folder of tracks instead, one file per activity'),
    originals: flag('--originals', 'with --all: the FIT files too, by date and name'),
    raw: flag('--raw', 'with --all: the responses of the service too, as JSON'),
    check: flag('--check', 'with --all: compare the folder with the database, and write nothing'),
  },
  help: {
    notes: [WHOSE],
    settings: DATABASE,
    exits: ITEMS,
    examples: [
      'musette export 3f0c2b --format csv > ride.csv',
      'musette export 3f0c2b --format gpx > ride.gpx',
      'musette export --all --format parquet --to history',
      'musette export --all --tracks rides',
      'musette export --all --to history --originals --raw',
      'musette export --all --to history --check',
    ],
  },
  needs: 'reading',
  before(_context, { path, format, owner, all, dir, tracks, originals, raw, check }) {
    const isWhole = path === undefined && owner === undefined
    const isTables = dir !== undefined && tracks === undefined && (format ?? 'parquet') === 'parquet'
    const isTracks = tracks !== undefined && !(dir || originals || raw) && isTrackFormat(format ?? 'gpx')
    if (all && !(isWhole && (isTables || isTracks)))
      throw new ConfigError(
        'bad_usage',
        'the history of all accounts is exported into a folder, as Parquet or as tracks; run: musette export --all --format parquet --to DIR, or: musette export --all --tracks DIR',
      )
    if (!all && (path === undefined || (dir ?? tracks) !== undefined || originals || raw || check))
      throw new ConfigError(
        'bad_usage',
        'name one activity, or export everything; run: musette export --all --format parquet --to DIR',
      )
    if (!all && (format === 'parquet' || format === 'fit'))
      refuseTerminal(
        `this format is not for a terminal; run: musette export ${quoteShell(path ?? '')} --format ${format} > FILE`,
      )
  },
  async run(tools, { path = '', format, owner, all, tracks, dir = tracks ?? '', originals, raw, check }) {
    if (check) return checkFolder(tools, dir)
    if (all) {
      const requested = { originals, raw, [format ?? 'gpx']: tracks !== undefined }
      const also = ALSO.filter((one) => requested[one])
      return exportHistory(tools, dir, also)
    }
    const { app, signal } = tools
    const { findChosenAccount } = await import('../../program/app/local-app.ts')
    const { exportActivity } = await import('./export-activity.ts')
    const name = await findChosenAccount(app, { name: owner, verb: 'export' })
    const why = await exportActivity(app, { name, path, format: format ?? 'csv', write: writeOut, signal })
    if (why === undefined) return EXIT.done
    tools.note(`musette: ${why}`)
    return EXIT.partial
  },
})

async function exportHistory(tools: Tools<'reading'>, dir: string, also: readonly Also[]): Promise<number> {
  const { exportAll } = await import('./export-all.ts')
  const { app, signal } = tools
  const line = tools.beginProgress('exporting rows')
  const counts = await exportAll(app, { dir, kind: 'by_hand', also, signal, onProgress: line.show })
  if (counts === undefined) {
    const message = 'another process is exporting the history; wait until it has finished and run this again'
    throw new TransientError('export_busy', message)
  }
  line.finish(`musette: ${sentenceOf(dir, counts)}`)
  const [first, ...more] = counts.foreign
  if (first !== undefined)
    tools.note(
      `musette: ${dir} also holds ${first}${more.length > 0 ? ` and ${more.length} more` : ''}, which do not belong to this export; readers count them too, so move them away`,
    )
  return counts.skipped.length > 0 ? EXIT.partial : EXIT.done
}

/** Maximum number of printed faults, because the folder of a different database has thousands. */
const SHOWN = 20

async function checkFolder(tools: Tools<'reading'>, dir: string): Promise<number> {
  const { app, signal, print, note } = tools
  const { checkExport, FAULTS } = await import('./export-all.ts')
  const { files, faults, run } = await checkExport(app, { dir, signal })
  if (faults.length === 0) {
    print(`${dir}: ${files} files, each as it was written and as the database holds it`)
    return EXIT.done
  }
  for (const { path, why } of faults.slice(0, SHOWN)) print(`${path}: ${FAULTS[why]}`)
  if (faults.length > SHOWN) print(`and ${formatCount(faults.length - SHOWN)} more`)
  const mend = faults.some(({ why }) => why !== 'foreign') ? `; run: ${run}` : ''
  note(`musette: ${formatCount(faults.length)} of ${formatCount(files)} files differ${mend}`)
  return EXIT.partial
}

function sentenceOf(dir: string, { files, written, removed, samples, bytes, anew }: ExportCounts): string {
  if (files === 0) return `there is nothing to export yet, so ${dir} has no files; run: musette sync`
  const rest = [`${files - written} unchanged`, ...(removed > 0 ? [`${removed} removed`] : [])].join(', ')
  if (written === 0) return `${dir} is up to date: ${files} files${removed > 0 ? `, ${removed} removed` : ''}`
  const size = `${formatCount(samples)} samples, ${(bytes / 1e6).toFixed(1)} MB`
  const why = anew ? '; all files again, because the old export belongs to another line of the database' : ''
  return `${dir}: ${written} of ${files} files written (${size}), ${rest}${why}`
}

const settings = async () => (await import('./settings.ts')).exportSettings

export const exporting = defineFeature({
  name: 'export',
  verbs: { after: 'rebuild', all: [exportVerb] },
  settingsOf: { start: ['MUSETTE_EXPORT_DIR', 'MUSETTE_EXPORT_EVERY'] },
  settings,
  jobs: {
    'export-history': {
      atStart: true,
      every: async (config) => {
        const { dir, everyMs } = (await settings()).of(config)
        return dir === undefined ? undefined : everyMs
      },
      run: async (app, context) => (await import('./export-all.ts')).exportHistory(app, context),
    },
  },
  downloads: { activity: EXPORT_FORMATS },
  routes: async (server, web) => (await import('./routes.ts')).registerDownloads(server, web),
  state: async () => (await import('./state.ts')).exportState,
  gauges: async () => (await import('./state.ts')).exportGauges,
})
