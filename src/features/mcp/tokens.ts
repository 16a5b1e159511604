/** Runs of letters, of digits, of white space, and each other sign alone. */
const PIECES = /[A-Za-z]+|\d+|\s+|[\s\S]/gu

/**
 * Counts the tokens of a text and never too few: three letters, two digits or one sign are a token, and each byte of a sign
 * beyond ASCII. Common tokenizers make fewer.
 */
export function countTokens(text: string): number {
  let tokens = 0
  for (const [piece] of text.matchAll(PIECES)) {
    const first = piece.charCodeAt(0)
    if (first > 127) tokens += Buffer.byteLength(piece)
    else if (/[A-Za-z]/.test(piece)) tokens += Math.ceil(piece.length / 3)
    else if (/\d/.test(piece)) tokens += Math.ceil(piece.length / 2)
    else tokens += 1
  }
  return tokens
}
