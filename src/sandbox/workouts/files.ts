import type { Signature } from '../athlete/signature.ts'
import type { Workout } from './designs.ts'
import { resolveSets, type WorkoutSet } from './sets.ts'

/** Writes a workout as an ERG file: minutes and watts, two points a step. */
export function makeErgFile(workout: Workout, signature: Signature): string {
  let minutes = 0
  const lines: string[] = []
  for (const step of stepsOf(resolveSets(workout, signature))) {
    lines.push(`${minutes.toFixed(2)}\t${Math.round(step.watts)}`)
    minutes += step.seconds / 60
    lines.push(`${minutes.toFixed(2)}\t${Math.round(step.watts)}`)
  }
  return [
    '[COURSE HEADER]',
    'VERSION = 2',
    'UNITS = ENGLISH',
    `DESCRIPTION = ${workout.description.replace(/\s+/g, ' ')}`,
    `FILE NAME = ${workout.name ?? workout.path}`,
    `FTP = ${Math.round(signature.ftp)}`,
    'MINUTES WATTS',
    '[END COURSE HEADER]',
    '[COURSE DATA]',
    ...lines,
    '[END COURSE DATA]',
    '',
  ].join('\r\n')
}

/** Writes a workout as a ZWO file: XML, power as shares of Threshold Power. */
export function makeZwoFile(workout: Workout, signature: Signature): string {
  const share = (watts: number) => (watts / signature.ftp).toFixed(3)
  const elements = resolveSets(workout, signature).map((set) => {
    if (set.power_rest === undefined || set.duration_rest === undefined) {
      return `    <SteadyState Duration="${set.duration}" Power="${share(set.power)}"/>`
    }
    const on = `OnDuration="${set.duration}" OnPower="${share(set.power)}"`
    const off = `OffDuration="${set.duration_rest}" OffPower="${share(set.power_rest)}"`
    return `    <IntervalsT Repeat="${set.interval_count}" ${on} ${off}/>`
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<workout_file>',
    '  <author>Sandbox</author>',
    `  <name>${escapeXml(workout.name ?? workout.path)}</name>`,
    `  <description>${escapeXml(workout.description)}</description>`,
    '  <sportType>bike</sportType>',
    '  <workout>',
    ...elements,
    '  </workout>',
    '</workout_file>',
    '',
  ].join('\n')
}

/** Replaces what XML and HTML would read as their own signs. */
export function escapeXml(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  }
  return text.replace(/[&<>"']/g, (sign) => entities[sign] ?? sign)
}

function stepsOf(sets: WorkoutSet[]): Array<{ watts: number; seconds: number }> {
  return sets.flatMap((set) =>
    Array.from({ length: set.interval_count }, () => [
      { watts: set.power, seconds: set.duration },
      ...(set.power_rest === undefined || set.duration_rest === undefined
        ? []
        : [{ watts: set.power_rest, seconds: set.duration_rest }]),
    ]).flat(),
  )
}
