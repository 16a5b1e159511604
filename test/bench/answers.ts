/** One day apart, so that no two rides share a second. */
const DAY_S = 86_400
/** Of the newest ride: six in the morning of yesterday. */
const FIRST_START_S = Math.floor(Date.now() / 1_000 / DAY_S - 1) * DAY_S + 6 * 3_600

export function startOf(ride: number): number {
  return FIRST_START_S - (ride % 3_000) * DAY_S
}

/**
 * What the numbers of an answer are like: `full` has every digit of a double, as the service sends them (270 bytes a second);
 * `live` also has the fields that a live service sends beyond its document (430); `rounded` has one to seven decimals (183).
 */
export type Kind = 'full' | 'live' | 'rounded'

/**
 * Writes the service's answer for a ride, with every field of the document in every second; `tgt` is null, as on a ride
 * without a workout.
 */
export function makeAnswer(input: { ride: number; seconds: number; version: number; kind: Kind }): Buffer {
  const { ride, seconds, version, kind } = input
  const round = kind === 'rounded' ? roundTo : (value: number) => value
  const random = makeRandom(ride * 31 + version + 1)
  const startS = startOf(ride)
  const place = { lat: 43.6 + random() / 10, lng: -79.4 + random() / 10 }
  let [power, mean, heart, altitude, distance, load] = [180, 180, 110, 320, 0, 0]
  const samples = Array.from({ length: seconds }, (_, second) => {
    power = Math.max(0, power + (random() - 0.5) * 40 + (190 - power) * 0.05)
    mean += (power - mean) / 5
    heart += (100 + power / 4 - heart) * 0.02
    altitude += (random() - 0.5) * 0.6
    const speed = 7 + random() * 3
    distance += speed
    place.lat += (random() - 0.48) * 1e-4
    place.lng += (random() - 0.48) * 1e-4
    const rate = (power / 250) ** 2 / 36
    load += rate
    return {
      power: round(mean, 0),
      unix_time: (startS + second) * 1_000,
      mpa: round(900 - power * 0.7, 1),
      cad: Math.round(85 + random() * 10),
      alt: round(altitude, 1),
      hr: Math.round(heart),
      spd: Math.round(speed * 3_600),
      tgt: null,
      lat: round(place.lat, 7),
      lng: round(place.lng, 7),
      dist: round(distance, 2),
      tws: round(load, 4),
      xds: round(rate, 5),
      ...(kind === 'live' && makeLiveFields({ second, power, mean, rate, load })),
    }
  })
  const answer = {
    success: true,
    name: `Ride ${ride}`,
    description: null,
    summary: makeSummary({ startS, seconds, distance, load }),
    session_data: samples,
  }
  return Buffer.from(JSON.stringify(answer))
}

/** The fields that a live service sends beyond its document; `hws` and `pws` have columns, the others have none. */
function makeLiveFields(at: { second: number; power: number; mean: number; rate: number; load: number }) {
  const { second, power, mean, rate, load } = at
  return {
    time: second,
    wexp: 20_000 - load * 37.3 - (power - mean) * 1.7,
    xssr: rate * 3_600 * 4.21,
    mm: mean / (900 - power * 0.7),
    mmp0s: mean * 1.0379,
    hws: load * 0.0871,
    pws: load * 0.0213,
  }
}

export function makeDate(startS: number) {
  const date = new Date(startS * 1_000).toISOString().slice(0, 19).replace('T', ' ')
  return { date: `${date}.000000`, timezone_type: 3, timezone: 'UTC' }
}

function makeSummary(ride: { startS: number; seconds: number; distance: number; load: number }) {
  const { load } = ride
  return {
    session: {
      max_power: 412,
      avg_power: 191,
      max_cadence: 95,
      total_elevation_gain: 640,
      total_calories: 900,
    },
    ...{ xss: load, xlss: load * 0.9, xhss: load * 0.08, xpss: load * 0.02, tws: load },
    ...{ xep: 201, mep: 214, sp: 230, sfd: 1.2, focus: 'Endurance', specificity: 'Mixed' },
    ...{
      difficulty: 80.5,
      difficulty_rating: 'Moderate',
      distance: ride.distance / 1_000,
      duration: ride.seconds,
    },
    sig: { ftp: 250, atc: 20_000, pp: 900 },
    prev_sig: { ftp: 250, atc: 20_000, pp: 900, ltp: 200 },
    ...{ medal: 0, breakthrough: 0, activity_type: 'Cycling', start_date: makeDate(ride.startS) },
  }
}

function roundTo(value: number, decimals: number): number {
  return Math.round(value * 10 ** decimals) / 10 ** decimals
}

function makeRandom(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return () => {
    state = (state ^ (state << 13)) >>> 0
    state ^= state >>> 17
    state = (state ^ (state << 5)) >>> 0
    return state / 2 ** 32
  }
}
