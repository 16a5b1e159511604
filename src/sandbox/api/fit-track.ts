import type { FitRecord } from '../../fit/activity.ts'
import { makeTrack, type Track } from '../athlete/track.ts'

/** Turns the records of a FIT activity into a track, one place a record. */
export function trackOfFit(records: readonly FitRecord[]): Track {
  const track = makeTrack(records.length)
  for (const [i, record] of records.entries()) {
    track.unixMs[i] = record.timeMs
    track.power[i] = record.power ?? Number.NaN
    track.cad[i] = record.cad ?? Number.NaN
    track.hr[i] = record.hr ?? Number.NaN
    track.alt[i] = record.altitude ?? Number.NaN
    track.spd[i] = record.speed ?? Number.NaN
    track.lat[i] = record.lat ?? Number.NaN
    track.lng[i] = record.lng ?? Number.NaN
    track.dist[i] = record.distance ?? Number.NaN
  }
  return track
}
