const CREATE = /^CREATE (?:OR REPLACE )?(?=(?:VIEW|FUNCTION) (\w+\.\w+))/gm
/** What decides where a statement ends. */
const TOKEN = /--.*|'(?:[^']|'')*'|"[^"]*"|(\$\w*\$)[\s\S]*?\1|\b(?:BEGIN ATOMIC|CASE|END)\b|;/gi

/** The definition of a view or function as a migration has it, with the comments before it, made to replace what is there. */
export type Written = { name: string; text: string; migration: string }

/** Lists the definitions in the text of a migration. Pure. */
export function listWritten(migration: string, text: string): Written[] {
  return [...text.matchAll(CREATE)].map(({ index, 0: create, 1: name = '' }) => {
    const from = index + create.length
    const statement = text.slice(from, from + lengthOf(text.slice(from)))
    const before = text.slice(0, index).split('\n').slice(0, -1)
    const others = before.findLastIndex((line) => !/^--(?!>)/.test(line))
    const lines = [...before.slice(others + 1), `CREATE OR REPLACE ${statement}`]
    return { name, text: lines.join('\n'), migration }
  })
}

/** Returns the length of a statement: up to the first semicolon outside of texts, and of what END closes. */
function lengthOf(text: string): number {
  let depth = 0
  for (const { index, 0: token } of text.matchAll(TOKEN)) {
    if (token === ';' && depth === 0) return index + 1
    if (/^(?:BEGIN|CASE)/i.test(token)) depth += 1
    if (/^END$/i.test(token)) depth -= 1
  }
  return text.length
}
