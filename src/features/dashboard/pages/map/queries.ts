import { dashboardSettings } from '../../settings.ts'
import type { Sent } from '../../shared/sent.ts'
import { chooseAccount } from '../account-choices.ts'
import type { PagesApp } from '../page-frame.ts'
import { rowsOf } from '../rows-of.ts'

/** The content of the page as the browser receives it. */
export type View = Sent<typeof findMap>

/** The most points of a track: with them 3,000 rides take 300 kB of gzip. */
const MAX_POINTS = 36
/** After this time a request begins no more tracks, ms: one of them may take a second where samples came a moment ago. */
const DRAW_MS = 300

type DrawnTrack = { id: number; name: string | null; day: string | null; sport: string; track: string }

/**
 * Finds the tracks of an account, by default of the first, the newest first, after it has made some of those that are missing or outdated;
 * undefined when the account does not exist. `now` is a clock, ms.
 */
export async function findMap(
  { store, config }: Pick<PagesApp, 'store' | 'config'>,
  chosen?: number,
  now = () => performance.now(),
) {
  const choice = await store.read((tx) => chooseAccount(tx, chosen))
  if (!choice) return undefined
  const { accounts, shown } = choice
  const id = shown?.account_id ?? 0
  const end = now() + DRAW_MS
  let isDrawing = true
  // Each transaction lasts as long as all before it.
  for (let most = 1; isDrawing && (most === 1 || now() < end); most *= 2) {
    const [made] = await store.transaction(
      (tx) => rowsOf<{ tracks: number }>(tx)`
     select musette.draw_tracks(${id}, ${MAX_POINTS}, ${most}) as tracks`,
    )
    isDrawing = made?.tracks === most
  }
  const tracks = await store.read(
    (tx) => rowsOf<DrawnTrack>(tx)`
     select activity_id as id, v.name, v.started_at_local::date::text as day, v.sport, d.track
     from training.activities v join musette.drawn_tracks d using (activity_id)
     where v.account_id = ${id} and v.absent_since is null and d.track <> '' order by v.started_at desc, activity_id`,
  )
  return {
    accounts,
    /** the account of the page; null before the first */
    account_id: shown?.account_id ?? null,
    tracks,
    is_drawing: isDrawing,
    map_tiles: dashboardSettings.of(config).mapTiles ?? null,
  }
}
