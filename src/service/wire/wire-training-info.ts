import { z } from 'zod'
import type { Drift } from './lenient.ts'
import {
  nameField,
  numberField,
  objectField,
  optionalIdentityField,
  type Parsed,
  parseLenient,
  textField,
} from './lenient.ts'

const loadsField = objectField({ low: numberField, high: numberField, peak: numberField, total: numberField })

const trainingInfoSchema = z.looseObject({
  success: z.unknown().optional(),
  signature: objectField({ ftp: numberField, ltp: numberField, hie: numberField, pp: numberField }),
  status: textField,
  weight: numberField,
  tl: loadsField,
  targetXSS: loadsField,
  source: textField,
  wotd: objectField({
    type: textField,
    name: nameField,
    workoutId: optionalIdentityField,
    description: textField,
    difficulty: numberField,
    url: textField,
  }),
})

/** Signature, status, loads and workout of the day (service document, "Training info"); any field may be missing. */
export type WireTrainingInfo = z.infer<typeof trainingInfoSchema> & { drift: Drift[] }

/** Parses the answer of endpoint 3. */
export function parseTrainingInfo(wire: Record<string, unknown>): Parsed<WireTrainingInfo> {
  const parsed = parseLenient(trainingInfoSchema, wire)
  if (!parsed.ok) return parsed
  return { ...parsed, value: { ...parsed.value, drift: parsed.drift } }
}
