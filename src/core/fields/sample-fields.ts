import { number, real, UNTOLD } from './field.ts'

/** The values of a sample (service document, "session_data entry fields"), besides its time. */
export const SAMPLE_VALUE_FIELDS = {
  power: real('power', 'Power, W; a trailing mean of about 5 s, see p_raw'),
  mpa: real('mpa', 'Maximal power available, W'),
  cad: real('cad', 'Cadence, 1/min'),
  alt: real('alt', `Altitude${UNTOLD} (read as m)`),
  hr: real('hr', 'Heart rate, 1/min'),
  spd: real('spd', `Speed as sent${UNTOLD}, read as m/h and not reliable on runs: derive speed from dist`),
  tgt: real('tgt', `Target power of a guided workout${UNTOLD} (read as W)`),
  lat: number('lat', 'Latitude, degrees'),
  lng: number('lng', 'Longitude, degrees'),
  dist: real('dist', `Distance so far${UNTOLD} (read as m)`),
  tws: real('tws', `Running total of tws, ends at the xss of the activity${UNTOLD}`),
  xds: real('xds', `Sample number xds of the service${UNTOLD}`),
  p_raw: real('p_raw', 'Power of this second before smoothing, W'),
  lws: real('lws', `Sample number lws of the service${UNTOLD}`),
  hws: real('hws', `Sample number hws of the service${UNTOLD}`),
  pws: real('pws', `Sample number pws of the service${UNTOLD}`),
}

export type SampleField = keyof typeof SAMPLE_VALUE_FIELDS
