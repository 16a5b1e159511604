// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
/** An escape of JSON, or a control character that JSON leaves as it is. */
const ESCAPE_OR_CONTROL = /\\(u00[0-9a-f]{2}|.)|[\u007f-\u009f]/gi

/**
 * Writes control characters as psql does, `\x1B`, `\r`, `\u009B`, so that no text can steer a terminal. Tabs and line breaks
 * stay.
 */
export function nameControls(text: string): string {
  return text.replace(CONTROL, nameControl)
}

/** Does the same to the texts in JSON, so that whoever decodes it gets no control characters but tabs and line breaks. */
export function nameControlsInJson(json: string): string {
  return json.replace(ESCAPE_OR_CONTROL, (found) => {
    const text = found.startsWith('\\') ? (JSON.parse(`"${found}"`) as string) : found
    const named = nameControls(text)
    return named === text ? found : JSON.stringify(named).slice(1, -1)
  })
}

/** Escapes the control characters that JSON may hold as they are, though a terminal obeys them: U+007F to U+009F. */
export function escapeDelete(json: string): string {
  return json.replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
}

function nameControl(character: string): string {
  if (character === '\r') return '\\r'
  const code = character.charCodeAt(0)
  const digits = code.toString(16).toUpperCase()
  return code < 0x80 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`
}

/** Characters of a value that an example shows: enough to recognise it by, short enough for a log line or a table cell. */
export const EXAMPLE_CHARACTERS = 100

/** Cuts a text to at most `limit` characters; the last one is then an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text
}
