/** Maximum number of UTF-8 bytes per 16-bit unit of a string. */
export const BYTES_A_CHARACTER = 3

/** Control characters that JSON does not escape, and signs that nobody sees or that turn the direction of reading. */
const UNESCAPED =
  '\\u007f-\\u009f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb'
const HIDES = new RegExp(`[${UNESCAPED}]`, 'g')
const CONTROL = new RegExp(`[\\u0000-\\u0008\\u000b-\\u001f${UNESCAPED}]`, 'g')
/** An escape sequence of JSON, or a character that JSON does not escape. */
const ESCAPE_OR_CONTROL = new RegExp(`\\\\(u[0-9a-f]{4}|.)|[${UNESCAPED}]`, 'gi')

/**
 * Escapes control characters as psql does, `\x1B`, `\r`, `\u009B`, and invisible signs, so that no text can control a terminal or turn its
 * lines. Tabs and line breaks stay.
 */
export function nameControls(text: string): string {
  return text.replace(CONTROL, nameControl)
}

/** Escapes control characters in the strings of a JSON text as nameControls does. Only tabs and line breaks stay. */
export function nameControlsInJson(json: string): string {
  return json.replace(ESCAPE_OR_CONTROL, (found) => {
    const text = found.startsWith('\\') ? (JSON.parse(`"${found}"`) as string) : found
    const named = nameControls(text)
    return named === text ? found : JSON.stringify(named).slice(1, -1)
  })
}

/** Escapes the control characters and invisible signs that JSON allows unescaped, because a terminal obeys them. */
export function escapeDelete(json: string): string {
  return json.replace(HIDES, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function nameControl(character: string): string {
  if (character === '\r') return '\\r'
  const code = character.charCodeAt(0)
  const digits = code.toString(16).toUpperCase()
  return code < 0x80 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`
}

/** Maximum length of a value in an example, characters: enough to recognise it, and short enough for a log line or a table cell. */
export const EXAMPLE_CHARACTERS = 100

/** Cuts a text to at most `limit` characters without splitting one. A cut text ends with an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/**
 * What nobody sees or what turns the direction of reading, unpaired surrogates and private characters; not the joiners in words and emoji
 * beyond ASCII, and not what chooses between a sign and its emoji.
 */
const INVISIBLE =
  /(?!\ufe0e|\ufe0f|(?<=[^ -~])[\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]/gu

/** Puts a text on one line of at most `limit` characters, without anything that is not seen. */
export function toLine(text: string, limit = 2_000): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').replace(INVISIBLE, '')
  return shorten(line.trim(), limit)
}

/** Quotes a text of others in a sentence of ours, which introduces it: on one line, and no sign in it ends the quotation. */
export function quoteText(text: string, limit = EXAMPLE_CHARACTERS): string {
  return `"${toLine(text, limit).replace(/["\u201c-\u201f\u2033\u275d\u275e\u301d-\u301f\uff02]/g, "'")}"`
}

/** Names a path or a file of others: as it is when it is one plain word, else as quoteText does. */
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

/** Quotes a text for CSV (RFC 4180) if needed. */
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

/** What stands in place of a secret. */
export const HIDDEN = '(hidden)'

/** Hides user, password and query of a URL: services take tokens in each of them. */
export function hideUrlSecrets(text: string): string {
  // By the text: a URL of several hosts is none for URL, and what stands raw in a password must not be shown either.
  return text.replace(/:\/\/.*@/s, `://${HIDDEN}@`).replace(/(:\/\/[^?#]*\?)[^#]*/s, `$1${HIDDEN}`)
}
