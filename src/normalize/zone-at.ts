import { createRequire } from 'node:module'

type Lookup = {
  find(lat: number, lng: number): string[]
  setCache(options: { store: Pick<Map<string, object>, 'get' | 'set'> }): void
}

/** Cells of the map that stay in memory. A rider's activities begin in a few of them, and one takes 20 kB to some MB. */
const CELLS = 16

let lookup: Lookup | undefined

/**
 * Finds the time zone of a place, an IANA name, by the borders of the time zones and of the territorial waters; at sea by the
 * longitude (`Etc/GMT+3`). Degrees, WGS 84. Undefined for numbers that are not a place on earth. The borders are those of
 * timezone-boundary-builder; where states dispute a place, the first name counts.
 */
export function zoneAt(lat: number, lng: number): string | undefined {
  if (!(Math.abs(lat) <= 90 && Math.abs(lng) <= 180)) return undefined
  lookup ??= loadLookup()
  return lookup.find(lat, lng)[0]
}

/** Loads the library at its first use, because its index has a megabyte and most commands do not need it. */
function loadLookup(): Lookup {
  const loaded: Lookup = createRequire(import.meta.url)('geo-tz/all')
  loaded.setCache({ store: makeCellCache() })
  return loaded
}

function makeCellCache(): Pick<Map<string, object>, 'get' | 'set'> {
  const cells = new Map<string, object>()
  return {
    get: (name) => cells.get(name),
    set(name, cell) {
      const oldest = cells.keys().next()
      if (cells.size >= CELLS && !oldest.done) cells.delete(oldest.value)
      return cells.set(name, cell)
    },
  }
}
