import { duration, identity, integer, key, name, number, text, UNTOLD } from './field.ts'

/** The columns of training info (service document, "Training info"). */
export const TRAINING_INFO_FIELDS = {
  status: text('status', 'Freshness status, in the words of the service'),
  weight_kg: number('weight', 'Weight of the rider, kg'),
  ftp: number('signature.ftp', 'Threshold power, W'),
  ltp: number('signature.ltp', 'Lower threshold power, W'),
  hie: number('signature.hie', `High intensity energy${UNTOLD}, read as kJ`),
  pp: number('signature.pp', 'Peak power, W'),
  tl_low: number('tl.low', `Training load, low${UNTOLD}`),
  tl_high: number('tl.high', `Training load, high${UNTOLD}`),
  tl_peak: number('tl.peak', `Training load, peak${UNTOLD}`),
  tl_total: number('tl.total', `Training load, total${UNTOLD}`),
  target_low: number('targetXSS.low', `Recommended training load score, low${UNTOLD}`),
  target_high: number('targetXSS.high', `Recommended training load score, high${UNTOLD}`),
  target_peak: number('targetXSS.peak', `Recommended training load score, peak${UNTOLD}`),
  target_total: number('targetXSS.total', `Recommended training load score, total${UNTOLD}`),
  source: text('source', 'Where the training information comes from, in the words of the service'),
  wotd_type: text('wotd.type', 'Workout of the day: None, Forecast or Scheduled'),
  wotd_name: name('wotd.name', 'Workout of the day: name'),
  wotd_workout_id: identity('wotd.workoutId', 'Workout of the day: identifier'),
  wotd_description: text('wotd.description', 'Workout of the day: description'),
  wotd_difficulty: number('wotd.difficulty', `Workout of the day: difficulty score${UNTOLD}`),
  wotd_url: text('wotd.url', 'Workout of the day: address of its file'),
}

/** The columns of an entry of a workout list (service document, "Workout list entry"). */
export const WORKOUT_FIELDS = { name: name('name', 'Name'), description: text('description', 'Description') }

/**
 * An entry of a workout list as sent, with `last_modified` (Unix seconds) or `updated_at` (`YYYY-MM-DD HH:MM:SS`, zone unknown).
 * `updated_at`, `duration` and `interval_count` are missing in the document, but the service sends them.
 */
export const WORKOUT_ENTRY_FIELDS = {
  path: key('path'),
  ...WORKOUT_FIELDS,
  last_modified: number('last_modified'),
  updated_at: text('updated_at'),
  duration: duration('duration'),
  interval_count: integer('interval_count'),
}

/** The columns of a workout definition, resolved for the signature of the rider (service document, "Workout definition"). */
export const DEFINITION_FIELDS = {
  name: name('name', 'Name in the definition; the one of the list is in workouts'),
  description: text('description', 'Description in the definition'),
}

/** The columns of a set of similar intervals (service document, "Set entry"). */
export const WORKOUT_SET_FIELDS = {
  name: name('name', 'Name of the interval that the set belongs to'),
  index: integer('index', 'Position of that interval in the workout designer'),
  power: number('power', 'Target power of the work part, W'),
  duration: duration('duration', 'Length of the work part, s'),
  power_rest: number('power_rest', 'Power of the rest part, W; NULL for sets without rest'),
  duration_rest: duration('duration_rest', 'Length of the rest part, s; NULL for sets without rest'),
  interval_count: integer('interval_count', 'Number of repetitions'),
}
