const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** Writes a number of bytes as a person says it: `812 MB`, `3.4 GB`; units of a thousand. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1_000 && unit < UNITS.length - 1; unit += 1) value /= 1_000
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}
