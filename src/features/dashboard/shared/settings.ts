/** How a person wants numbers and dates formatted. Kept in the browser, because several people may use one mirror. */
export type Settings = {
  distances: 'kilometres' | 'miles'
  /** `day first`: 18 Nov 2026; `browser`: as the browser's own language writes a date */
  dates: 'day first' | 'browser'
}

const KEY = 'musette settings'
const DEFAULTS: Settings = { distances: 'kilometres', dates: 'day first' }

/** Reads the settings of this browser, else the defaults. */
export function readSettings(): Settings {
  try {
    const stored: unknown = JSON.parse(storage()?.getItem(KEY) ?? '{}')
    const { distances, dates } = stored as Partial<Settings>
    return {
      distances: distances === 'miles' ? distances : DEFAULTS.distances,
      dates: dates === 'browser' ? dates : DEFAULTS.dates,
    }
  } catch {
    // A browser may forbid storage, or hold an extension's text.
    return DEFAULTS
  }
}

/** Stores the settings in this browser; returns whether the browser allows it. */
export function storeSettings(settings: Settings): boolean {
  try {
    const kept = storage()
    kept?.setItem(KEY, JSON.stringify(settings))
    return kept !== undefined
  } catch {
    return false
  }
}

/** The used part of the browser's storage, which may be missing. */
type Kept = { getItem(key: string): string | null; setItem(key: string, value: string): void }

function storage(): Kept | undefined {
  return (globalThis as { localStorage?: Kept }).localStorage
}
