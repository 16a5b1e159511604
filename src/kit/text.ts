/** Bytes in UTF-8 for each 16 bits of a string, at most. */
export const BYTES_A_CHARACTER = 3

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
/** An escape sequence of JSON, or a control character that JSON does not escape. */
const ESCAPE_OR_CONTROL = /\\(u00[0-9a-f]{2}|.)|[\u007f-\u009f]/gi

/** Escapes control characters as psql does, `\x1B`, `\r`, `\u009B`, so that no text can control a terminal. Tabs and line breaks stay. */
export function nameControls(text: string): string {
  return text.replace(CONTROL, nameControl)
}

/** Escapes the control characters in the texts of JSON as nameControls does; decoded, they have only tabs and line breaks. */
export function nameControlsInJson(json: string): string {
  return json.replace(ESCAPE_OR_CONTROL, (found) => {
    const text = found.startsWith('\\') ? (JSON.parse(`"${found}"`) as string) : found
    const named = nameControls(text)
    return named === text ? found : JSON.stringify(named).slice(1, -1)
  })
}

/** Escapes the control characters that JSON allows unescaped, U+007F to U+009F, because a terminal obeys them. */
export function escapeDelete(json: string): string {
  return json.replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
}

function nameControl(character: string): string {
  if (character === '\r') return '\\r'
  const code = character.charCodeAt(0)
  const digits = code.toString(16).toUpperCase()
  return code < 0x80 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`
}

/** The most characters of a value in an example: enough to recognise it, and short enough for a log line or a table cell. */
export const EXAMPLE_CHARACTERS = 100

/** Cuts a text to at most `limit` characters, never within one; a cut text ends with an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…` : text
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** Writes a number of bytes as a person says it: `812 MB`, `3.4 GB`; units of a thousand. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1_000 && unit < UNITS.length - 1; unit += 1) value /= 1_000
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

/** Writes a whole number as a person reads it: `12,345`. `toLocaleString` would take 50 ms the first time. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Writes a number of things with the word for one, or for several: `1 file`, `1,200 files`. */
export function countOf(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** Quotes a text for CSV (RFC 4180) when it needs quotes. */
export function quoteCsv(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Quotes a word for a shell when it needs quotes. */
export function quoteShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

const MARKUP: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }

/** Escapes the characters with a meaning in XML and HTML. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&${MARKUP[sign]};`)
}

/** What stands in place of a secret. */
export const HIDDEN = '(hidden)'

/** Hides user, password and query of a URL: services take tokens in each of them. */
export function hideUrlSecrets(text: string): string {
  // By the text: a URL of several hosts is none for URL, and what stands raw in a password must not be shown either.
  return text.replace(/:\/\/.*@/s, `://${HIDDEN}@`).replace(/(:\/\/[^?#]*\?)[^#]*/s, `$1${HIDDEN}`)
}
