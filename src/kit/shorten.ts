/** Characters of a value that an example shows: enough to recognise it by, short enough for a log line or a table cell. */
export const EXAMPLE_CHARACTERS = 100

/** Cuts a text to at most `limit` characters; the last one is then an ellipsis. */
export function shorten(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text
}
