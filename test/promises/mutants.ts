import { parseSync } from 'oxc-parser'

/** A small change of a source file that a test should notice. */
type Mutant = { in: string; line: number; at: number; from: string; to: string }

/** The rooms in which a wrong line matters most. */
export const ROOMS: Readonly<Record<string, string>> = {
  normalize: 'src/core/normalize/',
  service: 'src/core/service/',
  mirror: 'src/core/mirror/',
  upload: 'src/core/upload/',
  dropfolder: 'src/core/dropfolder/',
  vault: 'src/core/vault/',
  activities: 'src/core/store/activities/',
  webhooks: 'src/features/webhooks/',
  backup: 'src/features/backup/',
}

type Node = { type: string; start: number; end: number; [field: string]: unknown }

const OPERATORS: Readonly<Record<string, string>> = {
  ...{ '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' },
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '&&': '||', '||': '&&' },
}
/** What is said of the work, and not done by it. */
const SAYING = /^(?:await )?(?:[\w.?]*\blog\b|console)\b/

/**
 * Lists every mutant of a source file: other comparisons, signs, numbers, negated conditions, and calls left out. A number is one
 * larger; one of 1,000 and more, which is a limit of time or size as a rule, is doubled: a pause of 60,001 ms is that of a minute.
 * Pure.
 */
export function makeMutants(path: string, text: string): Mutant[] {
  const mutants: Mutant[] = []
  const add = (at: number, from: string, to: string) => {
    const line = text.slice(0, at).split('\n').length
    mutants.push({ in: path, line, at, from, to })
  }
  const addOfNode = (node: Node, to: string) => add(node.start, text.slice(node.start, node.end), to)
  const visit = (node: Node): void => {
    switch (node.type) {
      case 'BinaryExpression':
      case 'LogicalExpression': {
        const [left, right] = [node.left as Node, node.right as Node]
        const other = OPERATORS[node.operator as string]
        const at = text.indexOf(node.operator as string, left.end)
        const joinsTexts = node.operator === '+' && [left, right].some(isText)
        if (other && !joinsTexts && at < right.start) add(at, node.operator as string, other)
        if (node.operator === '??') addOfNode(node, text.slice(left.start, left.end))
        break
      }
      case 'IfStatement':
      case 'ConditionalExpression': {
        const test = node.test as Node
        addOfNode(test, `!(${text.slice(test.start, test.end)})`)
        break
      }
      case 'Literal':
        if (typeof node.value === 'boolean') addOfNode(node, String(!node.value))
        // Beyond 2^53 the next number is the same.
        if (typeof node.value === 'number' && Math.abs(node.value) < 2 ** 53)
          addOfNode(node, String(Math.abs(node.value) < 1_000 ? node.value + 1 : 2 * node.value))
        break
      case 'ExpressionStatement': {
        const { type } = node.expression as Node
        const calls = type === 'CallExpression' || type === 'AwaitExpression'
        if (calls && !SAYING.test(text.slice(node.start, node.end))) addOfNode(node, ';')
        break
      }
    }
    for (const value of Object.values(node))
      for (const child of [value].flat()) if (isNode(child)) visit(child)
  }
  visit(parseSync(path, text).program as unknown as Node)
  return mutants
}

function isText({ type, value }: Node): boolean {
  return type === 'TemplateLiteral' || typeof value === 'string'
}

/** Tells whether a value is a node of the program; those of types and imports are none that runs. */
function isNode(value: unknown): value is Node {
  const type = (value as Node | null)?.type
  if (typeof type !== 'string') return false
  const runs = /^(?:TSAsExpression|TSSatisfiesExpression|TSNonNullExpression)$/.test(type)
  return (runs || !type.startsWith('TS')) && type !== 'ImportDeclaration'
}
