import { createHash } from 'node:crypto'
import { DEVELOPMENT, FILE_ID, FIT_EPOCH_S, WORKOUT_FILE } from '../../core/fit/profile.ts'
import { encodeFit, type Message } from '../../core/fit/write-fit.ts'
import type { SavedWorkout } from '../../core/store/workout-rows.ts'
import type { Repeated, Step } from '../../program/frame/workout-steps.ts'

const CYCLING = 2
const DURATION = { time: 0, repeat: 6 }
const TARGET = { open: 2, power: 4 }
const INTENSITY = { active: 0, rest: 1, warmUp: 2, coolDown: 3 }
/** FIT adds 1000 to watts, because lower values are percentages of FTP. */
const WATTS_FROM = 1_000
/** Maximum length of a name that devices are known to read, bytes. */
const NAME_BYTES = 100

/** Formats a workout with its sets (see stepsOf) as a FIT file in whole watts; repetitions are kept. */
export function formatFitWorkout(workout: SavedWorkout, sets: readonly Repeated[]): Uint8Array {
  const steps = makeSteps(sets)
  return encodeFit([
    {
      number: FILE_ID.message,
      fields: [
        [FILE_ID.type, 'enum', WORKOUT_FILE],
        [1, 'uint16', DEVELOPMENT], // manufacturer
        [2, 'uint16', 1], // product
        [3, 'uint32z', serialNumberOf(workout.path)],
        [FILE_ID.createdAt, 'uint32', Math.floor(workout.resolvedAt.getTime() / 1_000) - FIT_EPOCH_S],
      ],
    },
    {
      number: 26, // workout
      fields: [
        [8, 'string', cutBytes(workout.name || workout.path)],
        [4, 'enum', CYCLING],
        [6, 'uint16', steps.length],
      ],
    },
    ...steps,
  ])
}

function makeSteps(sets: readonly Repeated[]): Message[] {
  const messages: Message[] = []
  for (const { count, work, rest } of sets) {
    const first = messages.length
    const ridden = (rest ? [work, rest] : [work]).filter(({ seconds }) => seconds > 0)
    if (count < 1 || ridden.length === 0) continue
    for (const step of ridden)
      messages.push(stepOf(messages.length, step, step === rest ? INTENSITY.rest : intensityOf(step)))
    if (count > 1)
      messages.push({
        number: 27, // workout step
        fields: [
          [254, 'uint16', messages.length], // message index
          [1, 'enum', DURATION.repeat],
          [2, 'uint32', first], // first step of the repetition
          [3, 'enum', TARGET.open],
          [4, 'uint32', count], // repetitions
          [7, 'enum', INTENSITY.active],
        ],
      })
  }
  return messages
}

function stepOf(index: number, { name, seconds, watts }: Step, intensity: number): Message {
  const target = Math.round(watts) + WATTS_FROM
  return {
    number: 27, // workout step
    fields: [
      [254, 'uint16', index], // message index
      ...(name ? [[0, 'string', cutBytes(name)] as const] : []),
      [1, 'enum', DURATION.time],
      [2, 'uint32', seconds * 1_000], // duration
      [3, 'enum', TARGET.power],
      [4, 'uint32', 0], // target: see the range below
      [5, 'uint32', target], // from
      [6, 'uint32', target], // to
      [7, 'enum', intensity],
    ],
  }
}

/** The service states the purpose of a set only in its name. */
function intensityOf({ name }: Step): number {
  if (/^warm/i.test(name ?? '')) return INTENSITY.warmUp
  return /^cool/i.test(name ?? '') ? INTENSITY.coolDown : INTENSITY.active
}

/** Returns a distinct serial number for each workout: devices treat files with equal number and time as the same. */
function serialNumberOf(path: string): number {
  return createHash('sha256').update(path).digest().readUInt32LE() || 1
}

function cutBytes(text: string): string {
  const characters = [...text.replaceAll('\0', '')]
  while (Buffer.byteLength(characters.join('')) > NAME_BYTES) characters.pop()
  return characters.join('')
}
