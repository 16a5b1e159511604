import { any, flag, key, name as nameField, number, text, UNTOLD, within } from './field.ts'

/** The start of an activity: a serialised PHP DateTime (service document, "start_date object"). The start has no columns of its own. */
export const START_FIELDS = {
  date: text('start_date.date'),
  timezone_type: number('start_date.timezone_type'),
  timezone: text('start_date.timezone'),
}

/** Fields of both the activity list and the detail; TYPED are in the summary of the detail. */
const NAMED = {
  name: nameField(
    'name',
    'Name; the last one that the service told, which stays when a later answer has none',
  ),
  description: text(
    'description',
    'Description; NULL when the detail says that there is none, or neither list nor detail has ever sent one',
  ),
}
const TYPED = {
  activity_type: text(
    'activity_type',
    'Type in the words of the service, such as Cycling; the last one that it told, which stays when a later answer has none',
  ),
}
export const LISTED_FIELDS = { ...NAMED, ...TYPED }

/** Values in the summary of an activity (service document, "summary fields"), by their path. */
export const SUMMARY_FIELDS = {
  max_power: number('session.max_power', 'Highest power, W'),
  avg_power: number('session.avg_power', 'Mean power, W'),
  max_cadence: number('session.max_cadence', 'Highest cadence, 1/min'),
  total_elevation_gain: number('session.total_elevation_gain', `Climbed height${UNTOLD} (read as m)`),
  total_calories: number('session.total_calories', `Energy${UNTOLD} (read as kcal)`),
  xss: number('xss', `Training load score, total${UNTOLD}`),
  xlss: number('xlss', `Training load score, low part${UNTOLD}`),
  xhss: number('xhss', `Training load score, high part${UNTOLD}`),
  xpss: number('xpss', `Training load score, peak part${UNTOLD}`),
  xep: number('xep', `Summary number xep of the service${UNTOLD}`),
  mep: number('mep', `Summary number mep of the service${UNTOLD}`),
  tws: number('tws', `Summary number tws of the service${UNTOLD}`),
  sp: number('sp', `Summary number sp of the service${UNTOLD}`),
  sfd: number('sfd', `Summary number sfd of the service${UNTOLD}`),
  focus: text('focus', 'Focus, in the words of the service'),
  specificity: text('specificity', 'Specificity, in the words of the service'),
  difficulty: number('difficulty', `Difficulty score${UNTOLD}`),
  difficulty_rating: text('difficulty_rating', 'Difficulty in words'),
  distance: number('distance', 'Distance as sent, km'),
  duration: number(
    'duration',
    `Duration as sent; the service's document says minutes, its answers read as seconds; elapsed_s is certain`,
  ),
  sig_ftp: number('sig.ftp', 'Threshold power after this activity, W'),
  sig_atc: number('sig.atc', `Signature number atc after this activity${UNTOLD}, probably J`),
  sig_pp: number('sig.pp', 'Peak power after this activity, W'),
  prev_sig_ftp: number('prev_sig.ftp', 'Threshold power before this activity, W'),
  prev_sig_atc: number('prev_sig.atc', `Signature number atc before this activity${UNTOLD}, probably J`),
  prev_sig_pp: number('prev_sig.pp', 'Peak power before this activity, W'),
  prev_sig_ltp: number('prev_sig.ltp', 'Lower threshold power before this activity, W'),
  medal: number('medal', 'Medal, a whole number of the service; 0 is none'),
  breakthrough: number(
    'breakthrough',
    'Breakthrough, a whole number of the service; 0 and NULL are none, -1 is a near one, see near_breakthrough',
  ),
  total_grams_carbs: number('total_grams_carbs', 'Carbohydrates burnt, g'),
  total_grams_fat: number('total_grams_fat', 'Fat burnt, g'),
  progression_date: text('progression.date', 'Day of the progression numbers as the service writes it'),
  tl_ftp: number('progression.tl.ftp', `Training load of threshold power${UNTOLD}`),
  tl_hie: number('progression.tl.hie', `Training load of high intensity energy${UNTOLD}`),
  tl_pp: number('progression.tl.pp', `Training load of peak power${UNTOLD}`),
  rl_ftp: number('progression.rl.ftp', `Recovery load of threshold power${UNTOLD}`),
  rl_hie: number('progression.rl.hie', `Recovery load of high intensity energy${UNTOLD}`),
  rl_pp: number('progression.rl.pp', `Recovery load of peak power${UNTOLD}`),
  form: number('progression.form', `Form${UNTOLD}`),
  training_status: number('training_status', `Training status as a number${UNTOLD}`),
  freshness: text('freshness', 'Freshness, in the words of the service'),
}

/** All columns of the summary: its values, and the URLs of pictures, which may change even if the activity does not. */
export const DETAIL_FIELDS = {
  ...SUMMARY_FIELDS,
  street_view: text('street_view', 'Address of a street picture'),
  activity_map: text('activity_map', 'Address of a map picture'),
  chart_view: text('chart_view', 'Address of the chart'),
}

/** An entry of the activity list as sent (service document, "Activity list entry"). Some entries have notes on the signature. */
export const ENTRY_FIELDS = {
  ...{ path: key('path'), ...LISTED_FIELDS, ...START_FIELDS },
  ...{ sig_manual: flag('sig.manual'), sig_error: text('sig.error') },
}

/** Notes on the signature. In a detail they stay in the summary, and a trigger reads them from there. */
const NOTES = { sig_manual: any('sig.manual'), sig_error: any('sig.error') }

/** An activity as sent (service document, "Activity detail"), without its samples. */
export const ACTIVITY_FIELDS = {
  ...NAMED,
  ...within('summary', { ...DETAIL_FIELDS, ...TYPED, ...START_FIELDS, ...NOTES }),
}
