import { TRAINING_INFO_FIELDS } from '../../fields/training-fields.ts'
import { ANSWER, makeParser } from './lenient.ts'

/** Parses the answer of endpoint 3: signature, status, loads and workout of the day (service document, "Training info"). */
export const parseTrainingInfo = makeParser({ ...ANSWER, ...TRAINING_INFO_FIELDS })
