import { createHash } from 'node:crypto'
import type { SavedWorkout } from '../../core/store/workout-rows.ts'
import { foldName, makeFileStem } from '../../kit/folders/file-name.ts'
import { escapeMarkup } from '../../kit/text.ts'
import { type Repeated, type Step, stepsOf } from '../../program/frame/workout-steps.ts'
import { formatFitWorkout } from './fit-workout.ts'
import type { WorkoutFileFormat } from './workout-formats.ts'

/** The content of a file, or the reason why it cannot be made. */
type FormattedWorkout = { content: string | Uint8Array } | { problem: string }

/**
 * Formats a saved workout for a trainer in whole seconds, with watts (`erg`, `fit`, `json`) or shares of FTP (`zwo`, `mrc`). Equal workouts
 * give equal bytes.
 */
export function formatWorkout(workout: SavedWorkout, format: WorkoutFileFormat): FormattedWorkout {
  const listed = stepsOf(workout)
  if ('problem' in listed) return listed
  const { steps, sets } = listed
  if (format === 'fit') return { content: formatFitWorkout(workout, sets) }
  if (format === 'json') return { content: formatJson(workout, steps) }
  const roundWatts = (watts: number) => String(Math.round(watts * 100) / 100)
  if (format === 'erg') return { content: formatCourse(workout, steps, 'WATTS', roundWatts) }
  const { ftp, path } = workout
  if (ftp === null || !(ftp > 0))
    return { problem: `the FTP of workout ${path} is unknown, and its ${format} file holds shares of FTP` }
  if (format === 'zwo') return { content: formatZwo({ ...workout, sets, ftp }) }
  const shareOf = (watts: number) => ((100 * watts) / ftp).toFixed(4)
  return { content: formatCourse(workout, steps, 'PERCENT', shareOf) }
}

function formatJson({ path, name, description, ftp }: SavedWorkout, steps: readonly Step[]): string {
  const seconds = steps.reduce((sum, step) => sum + step.seconds, 0)
  const shares = steps.map((step) => ({
    ...step,
    ftp_share: ftp !== null && ftp > 0 ? Math.round((step.watts / ftp) * 1e6) / 1e6 : null,
  }))
  return `${JSON.stringify({ path, name, description, ftp, seconds, steps: shares }, undefined, 2)}\n`
}

/** Formats an ERG or MRC file: two points (minute and power) per step, and timed texts. */
function formatCourse(
  workout: SavedWorkout,
  steps: readonly Step[],
  unit: 'WATTS' | 'PERCENT',
  ofWatts: (watts: number) => string,
): string {
  let seconds = 0
  const data: string[] = []
  const texts: string[] = []
  for (const step of steps) {
    if (step.name !== null && step.name !== '') texts.push(`${seconds}\t${formatLine(step.name)}\t10`)
    data.push(`${(seconds / 60).toFixed(4)}\t${ofWatts(step.watts)}`)
    seconds += step.seconds
    data.push(`${(seconds / 60).toFixed(4)}\t${ofWatts(step.watts)}`)
  }
  return [
    '[COURSE HEADER]',
    'VERSION = 2',
    'UNITS = ENGLISH',
    `DESCRIPTION = ${formatLine(workout.description ?? '')}`,
    `FILE NAME = ${formatLine(workout.name || workout.path)}`,
    ...(workout.ftp !== null && workout.ftp > 0 ? [`FTP = ${Math.round(workout.ftp)}`] : []),
    `MINUTES ${unit}`,
    '[END COURSE HEADER]',
    '[COURSE DATA]',
    ...data,
    '[END COURSE DATA]',
    ...(texts.length > 0 ? ['[COURSE TEXT]', ...texts, '[END COURSE TEXT]'] : []),
    '',
  ].join('\r\n')
}

/** Formats a text as one line without brackets, which delimit the sections of the file. */
function formatLine(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replaceAll('[', '(')
    .replaceAll(']', ')')
}

function formatZwo({
  sets,
  ftp,
  ...workout
}: Omit<SavedWorkout, 'sets'> & { sets: readonly Repeated[]; ftp: number }): string {
  const share = (watts: number) => (watts / ftp).toFixed(6)
  const elements = sets.flatMap(({ count, work, rest }) => {
    const text = work.name
      ? [`      <textevent timeoffset="0" message="${escapeXml(formatLine(work.name))}"/>`]
      : []
    const element = (tag: string, attributes: string) =>
      text.length > 0
        ? [`    <${tag} ${attributes}>`, ...text, `    </${tag}>`]
        : [`    <${tag} ${attributes}/>`]
    const steady = (step: Step) =>
      element('SteadyState', `Duration="${step.seconds}" Power="${share(step.watts)}"`)
    // Programs reject an interval without a duration.
    if (rest && rest.seconds > 0 && work.seconds > 0)
      return element(
        'IntervalsT',
        `Repeat="${count}" OnDuration="${work.seconds}" OffDuration="${rest.seconds}" OnPower="${share(work.watts)}" OffPower="${share(rest.watts)}"`,
      )
    const step = work.seconds > 0 ? work : rest
    return step && step.seconds > 0 ? Array.from({ length: count }, () => steady(step)).flat() : []
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<workout_file>',
    '  <author>musette</author>',
    `  <name>${escapeXml(formatLine(workout.name || workout.path))}</name>`,
    `  <description>${escapeXml((workout.description ?? '').replaceAll(/\r\n?/g, '\n'))}</description>`,
    '  <sportType>bike</sportType>',
    '  <tags/>',
    '  <workout>',
    ...elements,
    '  </workout>',
    '</workout_file>',
    '',
  ].join('\n')
}

/** Escapes markup and removes characters that XML forbids. */
function escapeXml(text: string): string {
  return escapeMarkup(text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, ''))
}

/** A file to write, named `<stem>.<format>`, or `<stem> (2).<format>` if another program's file has that name. */
export type WantedFile = { stem: string; format: string; content: string | Uint8Array; sha256: string }

/** The files to write. For workouts that cannot be written: the reasons, and the names of older files. */
type WorkoutFiles = { wanted: WantedFile[]; problems: string[]; kept: string[] }

/**
 * Makes the files of saved workouts, each named after its workout. If several workouts share a name, or `taken` has the name, the file's
 * name begins with the path, so that no name depends on the order of the list.
 */
export function makeWorkoutFiles(
  workouts: readonly SavedWorkout[],
  input: { formats: readonly WorkoutFileFormat[]; taken?: readonly string[] },
): WorkoutFiles {
  const counts = new Map<string, number>()
  const plainStemOf = ({ name, path }: SavedWorkout) => makeFileStem(name, path)
  for (const stem of [...(input.taken ?? []), ...workouts.map(plainStemOf)])
    counts.set(foldName(stem), (counts.get(foldName(stem)) ?? 0) + 1)
  const files: WorkoutFiles = { wanted: [], problems: [], kept: [] }
  for (const workout of workouts) {
    const plain = plainStemOf(workout)
    const isOnly = counts.get(foldName(plain)) === 1
    const stem = isOnly ? plain : makeFileStem(`${workout.path} ${workout.name ?? ''}`, workout.path)
    for (const format of input.formats) {
      const formatted = formatWorkout(workout, format)
      if ('problem' in formatted) {
        files.problems.push(formatted.problem)
        files.kept.push(`${stem}.${format}`)
        continue
      }
      const sha256 = createHash('sha256').update(formatted.content).digest('hex')
      files.wanted.push({ stem, format, content: formatted.content, sha256 })
    }
  }
  return { ...files, problems: [...new Set(files.problems)] }
}
