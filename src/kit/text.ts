/** Maximum number of UTF-8 bytes per 16-bit unit of a string. */
export const BYTES_A_CHARACTER = 3

/** Control characters that JSON does not escape, and invisible characters and characters that change the reading direction. */
const UNESCAPED =
  '\\u007f-\\u009f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb'
const HIDES = new RegExp(`[${UNESCAPED}]`, 'g')
const CONTROL = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${UNESCAPED}]`, 'g')
/** An escape sequence of JSON, or a character that JSON does not escape. */
const ESCAPE_OR_CONTROL = new RegExp(`\\\\(u[0-9a-f]{4}|.)|[${UNESCAPED}]`, 'gi')

/**
 * Escapes control characters as psql does, `\x1B`, `\r`, `\u009B`, and invisible characters, so that no string can control a terminal or
 * reverse its lines. Tabs and line breaks stay.
 */
export function nameControls(text: string): string {
  return text.replace(CONTROL, nameControl)
}

/** Escapes control characters in the strings of a JSON document as nameControls does. Only tabs and line breaks stay. */
export function nameControlsInJson(json: string): string {
  return json.replace(ESCAPE_OR_CONTROL, (found) => {
    const text = found.startsWith('\\') ? (JSON.parse(`"${found}"`) as string) : found
    const named = nameControls(text)
    return named === text ? found : JSON.stringify(named).slice(1, -1)
  })
}

/** Escapes the control characters and invisible characters that JSON allows unescaped, because a terminal obeys them. */
export function escapeDelete(json: string): string {
  return json.replace(HIDES, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function nameControl(character: string): string {
  if (character === '\r') return '\\r'
  const code = character.charCodeAt(0)
  const digits = code.toString(16).toUpperCase()
  return code < 0x80 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`
}

/** Maximum length of a value in an example, characters: enough to recognise the value, and short enough for a log line or a table cell. */
export const EXAMPLE_CHARACTERS = 100

/** Cuts a string to at most `limit` characters without splitting a character. A cut string ends with an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/**
 * Invisible characters, characters that change the reading direction, unpaired surrogates and private-use characters. Excluded are the joiners
 * in words and emoji beyond ASCII, and the selectors between a character and its emoji.
 */
const INVISIBLE =
  /(?!\ufe0e|\ufe0f|(?<=[^ -~])[\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]/gu

/** Puts a string on one line of at most `limit` characters, without invisible characters. */
export function toLine(text: string, limit = 2_000): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').replace(INVISIBLE, '')
  return shorten(line.trim(), limit)
}

/** Quotes foreign text inside a sentence that introduces the quotation. The result is one line, and no character of the text can end the quotation. */
export function quoteText(text: string, limit = EXAMPLE_CHARACTERS): string {
  return `"${toLine(text, limit).replace(/["\u201c-\u201f\u2033\u275d\u275e\u301d-\u301f\uff02]/g, "'")}"`
}

/** Names a foreign path or file: unchanged if the name is one plain word, otherwise quoted by quoteText. */
export function quoteName(text: string): string {
  return /^[\w@%+=,./-]{1,200}$/.test(text) ? text : quoteText(text, 200)
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** Formats a number of bytes in units of a thousand: `812 MB`, `3.4 GB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  for (; value >= 1_000 && unit < UNITS.length - 1; unit += 1) value /= 1_000
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`
}

/** Formats an integer: `12,345`. `toLocaleString` takes 50 ms the first time. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Formats a count with a singular or plural noun: `1 file`, `1,200 files`. */
export function countOf(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** Quotes a string for CSV (RFC 4180) if needed. */
export function quoteCsv(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Quotes a word for a shell if needed. */
export function quoteShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

const MARKUP: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }

/** Escapes the special characters of XML and HTML. */
export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&${MARKUP[sign]};`)
}

/** The placeholder for a secret. */
export const HIDDEN = '(hidden)'

/** Hides a URL's user, password and query, because services accept tokens in each of them. */
export function hideUrlSecrets(text: string): string {
  // Edits the string, because URL cannot parse several hosts, and unescaped characters of a password must not be shown either.
  return text.replace(/:\/\/.*@/s, `://${HIDDEN}@`).replace(/(:\/\/[^?#]*\?)[^#]*/s, `$1${HIDDEN}`)
}
