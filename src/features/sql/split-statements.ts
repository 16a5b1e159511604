// Each alternative is one token that may contain a semicolon. An unterminated token extends to the end of the text, and the server
// reports it. Doubled quotes need no rule: they end one token and begin the next.
const TOKEN = new RegExp(
  [
    /--[^\n\r]*/,
    /[eE]'(?:[^'\\]+|\\[\s\S]|'')*'?/,
    /'[^']*'?/,
    /"[^"]*"?/,
    /\$(?<tag>(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[\s\S]*?(?:\$\k<tag>\$|$)/,
    /[\w\u0080-\uffff][\w$\u0080-\uffff]*/,
    /\s+/,
    /[\s\S]/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
)

/**
 * Splits SQL into statements as psql does: at semicolons outside quotes, comments and parentheses. Ignores a part that contains only
 * comments.
 */
export function splitStatements(text: string): string[] {
  const statements: string[] = []
  let start = 0
  let empty = true
  let depth = 0
  const endStatement = (end: number) => {
    if (!empty) statements.push(text.slice(start, end).trim())
    start = end + 1
    empty = true
    depth = 0
  }
  for (let at = 0; at < text.length; ) {
    if (text.startsWith('/*', at)) {
      at = endOfComment(text, at)
      continue
    }
    TOKEN.lastIndex = at
    const token = TOKEN.exec(text)?.[0] ?? ''
    if (token === '(') depth += 1
    if (token === ')') depth = Math.max(0, depth - 1)
    if (token === ';' && depth === 0) endStatement(at)
    else if (!token.startsWith('--') && token.trim() !== '') empty = false
    at += token.length
  }
  endStatement(text.length)
  return statements
}

// Block comments nest in Postgres.
function endOfComment(text: string, start: number): number {
  const marks = /\/\*|\*\//g
  marks.lastIndex = start
  let depth = 0
  for (let mark = marks.exec(text); mark; mark = marks.exec(text)) {
    depth += mark[0] === '/*' ? 1 : -1
    if (depth === 0) return marks.lastIndex
  }
  return text.length
}
