import type { Values } from '../../fields/field.ts'
import { TRAINING_INFO_FIELDS } from '../../fields/training-fields.ts'
import { ANSWER, makeParser } from './lenient.ts'

/** Signature, status, loads and workout of the day (service document, "Training info"); any field may be missing. */
export type WireTrainingInfo = Values<typeof TRAINING_INFO_FIELDS>

/** Parses the answer of endpoint 3. */
export const parseTrainingInfo = makeParser({ ...ANSWER, ...TRAINING_INFO_FIELDS })
