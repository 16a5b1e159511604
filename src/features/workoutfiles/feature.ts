import { ConfigError, commandFor } from '../../kit/errors.ts'
import { EXIT } from '../../program/frame/context.ts'
import { defineFeature } from '../../program/frame/define-feature.ts'
import { ASKS, DATABASE, WHOSE } from '../../program/frame/help-of-verbs.ts'
import { printTable } from '../../program/frame/output.ts'
import { refuseTerminal, writeOut } from '../../program/frame/standard-streams.ts'
import { defineVerb, flag, option } from '../../program/frame/verb.ts'
import { WORKOUT_FORMATS, type WorkoutFileFormat } from './workout-formats.ts'

const WORKOUT = {
  name: 'workout',
  description: 'the workouts that you saved at the service, as files for a trainer',
}

const workoutListVerb = defineVerb({
  group: WORKOUT,
  name: 'list',
  description: 'list your workouts, then the default ones',
  options: {
    account: option('--account <account>', 'whose workouts'),
    json: flag('--json', 'as one JSON array'),
  },
  help: {
    notes: [WHOSE],
    settings: DATABASE,
    exits: ASKS,
    examples: ['musette workout list', 'musette workout list --json'],
  },
  needs: 'reading',
  async run(tools, { account, json }) {
    const { findWorkoutLines } = await import('./saved-workouts.ts')
    const lines = await findWorkoutLines(tools.app, { account })
    if (json) tools.printJson(lines)
    else if (lines.length === 0)
      tools.print(`no workouts are mirrored yet; run: ${commandFor('sync', account)}`)
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

const workoutExportVerb = defineVerb({
  group: WORKOUT,
  name: 'export [name]',
  description: 'write one workout, or all of your own, by name or path',
  options: {
    format: option<WorkoutFileFormat, never>(
      '--format <format>',
      'watts: erg, fit, json; shares of FTP: zwo, mrc',
    )
      .choices(WORKOUT_FORMATS)
      .makeOptionMandatory(),
    all: flag('--all', 'every workout of your own list'),
    dir: option('--to <dir>', 'the folder; without --to one workout goes to standard output'),
    account: option('--account <account>', 'whose workouts'),
  },
  help: {
    notes: [
      WHOSE,
      'With --to, a file that you made or changed is never overwritten or removed. With --all, files of deleted workouts are removed.',
    ],
    settings: [...DATABASE, 'MUSETTE_WORKOUT_DIR'],
    exits: [...ASKS, 'partial'],
    examples: [
      "musette workout export 'Lunch Tempo' --format zwo > tempo.zwo",
      'musette workout export --all --format fit --to workouts',
    ],
  },
  needs: 'reading',
  before(_context, { name, format, all = false, dir }) {
    if (all === (name !== undefined) || (all && dir === undefined)) {
      const message = `name one workout, or export all of your own: musette workout export --all --format ${format} --to DIR`
      throw new ConfigError('bad_usage', message)
    }
    if (dir === undefined && format === 'fit')
      refuseTerminal('this format is not for a terminal; name a folder with --to DIR')
  },
  async run({ app, note }, { name, format, dir, account }) {
    const { exportWorkouts, findWorkoutContent } = await import('./saved-workouts.ts')
    if (dir === undefined) {
      await writeOut(await findWorkoutContent(app, { account, name: name ?? '', format }))
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

export const workoutfiles = defineFeature({
  name: 'workoutfiles',
  verbs: { after: 'rebuild', all: [workoutListVerb, workoutExportVerb] },
  settingsOf: {
    start: ['MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'],
    sync: ['MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'],
  },
  downloads: { workout: WORKOUT_FORMATS },
  routes: async (server, web) => (await import('./routes.ts')).registerWorkouts(server, web),
  settings: async () => (await import('./settings.ts')).workoutfilesSettings,
  state: async () => (await import('./state.ts')).workoutfilesState,
  async openOnWorkouts(app) {
    const { workoutfilesSettings } = await import('./settings.ts')
    const { dir, holdsSaved } = workoutfilesSettings.of(app.config)
    if (dir === undefined) return undefined
    const { folderUpdater } = await import('./update-folder.ts')
    return folderUpdater(app, { dir, holdsSaved })
  },
})
