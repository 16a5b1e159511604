/** The most characters of a value in an example: enough to recognise it, and short enough for a log line or a table cell. */
export const EXAMPLE_CHARACTERS = 100

/** Cuts a text to at most `limit` characters; a cut text ends with an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text
}
