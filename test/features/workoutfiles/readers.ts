import { Decoder, type FitMessages, Stream } from '@garmin/fitsdk'
import { XMLParser } from 'fast-xml-parser'

/** A workout file as a trainer's program reads it: the watts of each second. */
export type ReadWorkout = { name: string; description: string; watts: number[]; texts: string[] }

/** Reads a ZWO file with an XML parser; shares of `ftp` become watts. */
export function readZwo(text: string, ftp: number): ReadWorkout {
  const parser = new XMLParser({
    ignoreAttributes: false,
    preserveOrder: true,
    trimValues: false,
    parseTagValue: false,
  })
  type Node = Record<string, Node[]> & { ':@'?: Record<string, string>; '#text'?: string }
  const root = (parser.parse(text, true) as Node[]).find((node) => node.workout_file)?.workout_file ?? []
  const child = (name: string) => root.find((node) => node[name])?.[name] ?? []
  const textOf = (name: string) => String(child(name)[0]?.['#text'] ?? '')
  const watts: number[] = []
  const texts: string[] = []
  for (const node of child('workout')) {
    const tag = Object.keys(node).find((key) => key === 'SteadyState' || key === 'IntervalsT')
    if (!tag) continue
    const at = node[':@'] ?? {}
    const number = (name: string) => Number(at[`@_${name}`])
    const push = (seconds: number, share: number) => {
      for (let second = 0; second < seconds; second++) watts.push(share * ftp)
    }
    texts.push(...(node[tag] ?? []).flatMap((event) => event[':@']?.['@_message'] ?? []))
    if (tag === 'SteadyState') push(number('Duration'), number('Power'))
    else
      for (let i = 0; i < number('Repeat'); i++) {
        push(number('OnDuration'), number('OnPower'))
        push(number('OffDuration'), number('OffPower'))
      }
  }
  return { name: textOf('name'), description: textOf('description'), watts, texts }
}

/** Reads an ERG or MRC file as trainers do: straight lines between points in minutes; percentages are of `ftp`, W. */
export function readCourse(text: string, ftp = Number.NaN): ReadWorkout {
  const part = (name: string) => {
    const [, inner = ''] = text.split(`[${name}]\r\n`)
    return inner.split(`[END ${name}]`)[0]?.split('\r\n').filter(Boolean) ?? []
  }
  const head = part('COURSE HEADER')
  const value = (name: string) =>
    head.find((line) => line.startsWith(`${name} = `))?.slice(name.length + 3) ?? ''
  const scale = head.includes('MINUTES PERCENT') ? ftp / 100 : 1
  const points = part('COURSE DATA').map((line) => line.split('\t').map(Number) as [number, number])
  const watts: number[] = []
  for (let i = 0; i + 1 < points.length; i += 2) {
    const [from, power] = points[i] as [number, number]
    const [to, end] = points[i + 1] as [number, number]
    if (power !== end) throw new Error('a step that is not steady')
    if (Math.round(from * 60) !== watts.length) throw new Error('a gap between steps')
    while (watts.length < Math.round(to * 60)) watts.push(power * scale)
  }
  const texts = part('COURSE TEXT').map((line) => line.split('\t')[1] ?? '')
  return { name: value('FILE NAME'), description: value('DESCRIPTION'), watts, texts }
}

/** The reader names the value from which watts count. */
function wattsOf(power: unknown): number {
  return power === 'wattsOffset' ? 0 : Number(power) - 1_000
}

/** Reads a FIT workout with Garmin's own reader. */
export function readFitWorkout(bytes: Uint8Array): ReadWorkout & { messages: FitMessages } {
  const decoder = new Decoder(Stream.fromBuffer(Buffer.from(bytes)))
  if (!decoder.checkIntegrity()) throw new Error('the file is not whole')
  const { messages, errors } = decoder.read()
  if (errors.length > 0) throw errors[0]
  type Steps = Array<Record<string, unknown>>
  const found = messages as unknown as { workoutMesgs: Steps; workoutStepMesgs: Steps }
  const steps = found.workoutStepMesgs
  const watts: number[] = []
  const texts: string[] = []
  const run = (from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const step = steps[i] ?? {}
      if (step.durationType === 'repeatUntilStepsCmplt') {
        for (let again = 1; again < Number(step.repeatSteps); again++) run(Number(step.durationStep), i)
        continue
      }
      if (typeof step.wktStepName === 'string') texts.push(step.wktStepName)
      const seconds = Number(step.durationTime)
      for (let second = 0; second < seconds; second++) watts.push(wattsOf(step.customTargetPowerLow))
    }
  }
  run(0, steps.length)
  const [workout] = found.workoutMesgs
  if (workout?.numValidSteps !== steps.length) throw new Error('the number of steps is wrong')
  return { name: String(workout?.wktName), description: '', watts, texts, messages }
}
