/**
 * The settings for the format of numbers and dates: the values of each setting with their labels, the default first. Stored in the browser,
 * because several people may use one mirror.
 */
export const SETTINGS = {
  distances: { kilometres: 'kilometres', miles: 'miles' },
  dates: { 'day first': '18 Nov 2026', browser: 'as in this browser' },
} as const
type Name = keyof typeof SETTINGS

const KEY = 'musette settings'

/** Reads a setting from this browser; returns the default if it is not set. */
export function readSetting(name: Name): string {
  const values = Object.keys(SETTINGS[name])
  return values.find((value) => value === readAll()[name]) ?? values[0] ?? ''
}

/** Stores a setting in this browser and reports whether the browser allows it. */
export function storeSetting(name: Name, value: string): boolean {
  try {
    storage()?.setItem(KEY, JSON.stringify({ ...readAll(), [name]: value }))
    return storage() !== undefined
  } catch {
    return false
  }
}

function readAll(): Partial<Record<Name, unknown>> {
  try {
    return JSON.parse(storage()?.getItem(KEY) ?? '{}') ?? {}
  } catch {
    // A browser may forbid storage, or an extension may have overwritten the stored value.
    return {}
  }
}

/** Returns the browser's storage; undefined if the browser has none. */
function storage() {
  type Storage = { getItem(key: string): string | null; setItem(key: string, value: string): void }
  return (globalThis as { localStorage?: Storage }).localStorage
}
