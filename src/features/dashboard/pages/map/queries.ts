import { decodePoints, M_A_UNIT, simplifyTrack, UNITS } from '../../../../core/normalize/track.ts'
import { decodeRows, readBytes } from '../../../../core/store/copy.ts'
import { dashboardSettings } from '../../settings.ts'
import type { Sent } from '../../shared/sent.ts'
import { type Box, encodeTrack, NEAR_UNITS, project, TRACK_UNITS } from '../../shared/world-places.ts'
import { chooseAccount } from '../account-choices.ts'
import type { PagesApp } from '../page-frame.ts'
import { rowsOf } from '../rows-of.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<typeof findMap>
export type NearView = Sent<typeof findNear>

type Outline = { id: number; name: string | null; day: string | null; sport: string; outline: Buffer | null }

/** Finds the outlines of an account's tracks, newest first, by default of the first account; undefined if the account does not exist. */
export async function findMap(
  { store, config }: Pick<PagesApp, 'store' | 'config'>,
  { account }: { account?: number | undefined },
) {
  return await store.read(async (tx) => {
    const choice = await chooseAccount(tx, account)
    if (!choice) return undefined
    const rows = await rowsOf<Outline>(tx)`
     select activity_id as id, v.name, v.started_at_local::date::text as day, v.sport, t.outline
     from training.activities v left join training.ride_tracks t using (activity_id)
     where v.account_id = ${choice.shown?.account_id ?? 0} and v.absent_since is null and v.start_lat is not null
     order by v.started_at desc, activity_id`
    const tracks = rows.flatMap(({ outline, ...row }) =>
      outline?.length ? [{ ...row, track: encode(decodePoints(outline), TRACK_UNITS) }] : [],
    )
    return {
      accounts: choice.accounts,
      /** the account of the page; null if there is no account yet */
      account_id: choice.shown?.account_id ?? null,
      tracks,
      /** number of activities with positions for which the daemon has not made a track yet */
      left: rows.length - tracks.length,
      map_tiles: dashboardSettings.of(config).mapTiles ?? null,
    }
  })
}

/** A simplified line may deviate from the track by at most the box's height divided by this number. */
const STEPS = 300

/** 360 degrees, in millionths of a degree. */
const WORLD = 360 * UNITS

/** Finds the pieces of an account's tracks in a box; the smaller the box, the finer the tracks. The box may cross the 180° meridian. */
export async function findNear(
  { store }: Pick<PagesApp, 'store'>,
  { account = 0, west, south, east, north }: Box & { account?: number | undefined },
) {
  // Reads bytes, because the points would be twice as long as text.
  const bytes = await store.read((tx) =>
    readBytes(
      tx.client,
      `select activity_id, t.points from training.activities v join training.ride_tracks t using (activity_id)
       where v.account_id = ${account} and v.absent_since is null and v.south <= ${north / UNITS} and v.north >= ${south / UNITS}
         and exists (select from generate_series(-360, 360, 360) world
           where v.west <= ${east / UNITS} + world and v.east >= ${west / UNITS} + world)`,
    ),
  )
  const toleranceM = ((north - south) * M_A_UNIT) / STEPS
  const pieces: Array<{ id: number; track: string }> = []
  for (const [id, field] of decodeRows(bytes)) {
    const points = decodePoints(field as Buffer)
    const isIn = (at: number) => {
      const [y, x] = [points[at] as number, points[at + 1] as number]
      return y >= south && y <= north && west + ((x - west + 2 * WORLD) % WORLD) <= east
    }
    for (let at = 0; at < points.length; at += 2) {
      if (!isIn(at)) continue
      // Includes one point before and after the box, so that lines reach its edge.
      const from = Math.max(0, at - 2)
      while (at < points.length && isIn(at)) at += 2
      const piece = simplifyTrack(points.subarray(from, at + 2), Number.POSITIVE_INFINITY, toleranceM)
      pieces.push({ id: (id as Buffer).readInt32BE(), track: encode(piece, NEAR_UNITS) })
    }
  }
  return { pieces }
}

function encode(points: Int32Array, units: number): string {
  const places = Array.from({ length: points.length / 2 }, (_, n) =>
    project((points[2 * n] as number) / UNITS, (points[2 * n + 1] as number) / UNITS),
  )
  return encodeTrack(places, units)
}
