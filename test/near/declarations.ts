import { type Node, parseSync, Visitor } from 'oxc-parser'

/** A named part of a source file: a function at any depth, or a variable or class of the module. A part of a part has a dot in its name. */
export type Declaration = { name: string; start: number; end: number; body: Node | undefined }

/** Lists the declarations of a source file, an outer one before its parts; types and imports are none. Pure. */
export function listDeclarations(path: string, text: string): Declaration[] {
  const declarations: Declaration[] = []
  const open: Array<{ node: Node; name: string }> = []
  const enter = (node: Node, key: Node | null, value: Node | null) => {
    const body = bodyOf(value)
    if (key?.type !== 'Identifier' || !(body || open.length === 0)) return
    open.push({ node, name: key.name })
    const { start, end } = node
    declarations.push({ name: open.map(({ name }) => name).join('.'), start, end, body })
  }
  const leave = (node: Node) => {
    if (open.at(-1)?.node === node) open.pop()
  }
  new Visitor({
    FunctionDeclaration: (node) => enter(node, node.id, node),
    'FunctionDeclaration:exit': leave,
    ClassDeclaration: (node) => enter(node, node.id, null),
    'ClassDeclaration:exit': leave,
    VariableDeclarator: (node) => enter(node, node.id, node.init),
    'VariableDeclarator:exit': leave,
    Property: (node) => enter(node, node.key, node.value),
    'Property:exit': leave,
    MethodDefinition: (node) => enter(node, node.key, node.value),
    'MethodDefinition:exit': leave,
  }).visit(parseSync(path, text).program)
  return declarations
}

function bodyOf(node: Node | null): Node | undefined {
  const isFunction =
    node?.type === 'ArrowFunctionExpression' ||
    node?.type === 'FunctionExpression' ||
    node?.type === 'FunctionDeclaration'
  return isFunction ? (node.body ?? undefined) : undefined
}

/**
 * Returns the source with a mark in each named function, which is set when it runs. Lines stay where they are.
 * `ran.ts` reads the marks. Pure.
 */
export function withMarks(path: string, text: string): string {
  const functions = listDeclarations(path, text).filter(({ body }) => body)
  const inserted = functions.flatMap(({ body }, index) => {
    if (!body) return []
    const mark = `__ran[${index}]=1`
    return body.type === 'BlockStatement'
      ? [{ at: body.start + 1, code: `${mark};` }]
      : [
          { at: body.start, code: `(${mark},` },
          { at: body.end, code: ')' },
        ]
  })
  const names = JSON.stringify(functions.map(({ name }) => name))
  const marks = `((globalThis.__ran??={})[${JSON.stringify(path)}]??={names:${names},marks:new Uint8Array(${functions.length})}).marks`
  let at = 0
  let code = `const __ran=${marks};`
  // Of two at one place the outer one comes first at a start and last at an end.
  for (const piece of inserted.sort((a, b) => a.at - b.at)) {
    code += text.slice(at, piece.at) + piece.code
    at = piece.at
  }
  return code + text.slice(at)
}
