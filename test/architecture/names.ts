import { basename } from 'node:path'
import { roomOf, type SourceFile } from './rooms.ts'

/** Words that a newcomer would have to learn here, that mean several things, or that say nothing. */
const RETIRED =
  /^(?:house|patient|patiently|ballot|voice|handful|coaching|told|asked|strangers?|turns|dues|ring|door|figures|standings?|maintenance|offer|entity|dto|repository|bookmark|utils?|helpers?)$/
/** Verbs that say too little at the head of a name. */
const RETIRED_VERBS = /^(?:ask|take|tell|handle|manage)$/
/** Names that others chose: methods that the library pg calls, a field of Home Assistant, a setting in words for riders, and an option. */
const NAMED_BY_OTHERS =
  /^(?:handle(?:RowDescription|DataRow|CopyData|CommandComplete|Error|ReadyForQuery)|entity_category|MUSETTE_KNOWN_RIDES|takeOver)$/

const wordsOf = (name: string) =>
  name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z\d]+/)
    .map((word) => word.toLowerCase())

/** Returns the text without comments, strings, regular expressions and the text of elements, which speak to people. */
function codeOf(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|[^:'"`])\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''")
    .replace(/`(?:[^`\\]|\\[\s\S])*`/g, '``')
    .replace(/(>|\})([^<>{}=;()]+)(<|\{)/g, '$1$3')
}

/** Lists, as sentences, each name of a file or in its code that is or begins with a retired word. */
export function listRetiredNames(files: readonly SourceFile[]): string[] {
  const found = new Set<string>()
  for (const { path, text } of files) {
    const names = [basename(path).replace(/\.tsx?$/, ''), ...(codeOf(text).match(/[A-Za-z_$][\w$]*/g) ?? [])]
    for (const name of names) {
      if (NAMED_BY_OTHERS.test(name)) continue
      if (/^(?:MOST|LEAST)_[A-Z]/.test(name)) found.add(`${path}: ${name}; say MAX_ or MIN_`)
      const words = wordsOf(name)
      const [verb = '', ...others] = words
      if (words.some((word) => RETIRED.test(word)) || (others.length > 0 && RETIRED_VERBS.test(verb)))
        found.add(`${path}: ${name}; say a common word for what it is or does`)
      // A rider rides: the sandbox has an athlete. Everywhere else it is an activity, which may be a swim.
      if (words.some((word) => /^rides?$/.test(word)) && roomOf(path) !== 'sandbox')
        found.add(`${path}: ${name}; say activity`)
    }
  }
  return [...found]
}

type Declared = { path: string; name: string; head: string; body: string; isAsync: boolean }

function functionsOf({ path, text }: SourceFile): Declared[] {
  const declared: Declared[] = []
  for (const match of text.matchAll(/^(?:export )?(async )?function\*? (\w+)([\s\S]*?)\n}/gm)) {
    const whole = match[3] as string
    const at = whole.search(/\{\n/)
    const [head, body] = at < 0 ? [whole, whole] : [whole.slice(0, at), whole.slice(at)]
    declared.push({ path, name: match[2] as string, head, body, isAsync: match[1] !== undefined })
  }
  return declared
}

const NETWORK_ROOM =
  /^(?:core\/(?:service|mirror|upload|jobs)|program\/(?:doctor|web|cli|frame)|features|sandbox)$/
/** The handles of the database, of the queue, and of the ledger in it. */
const DATABASE =
  /\b(?:tx|store|Tx|Store|client|queries|database|vault|cluster|pool|queue)\b|\b(?:find|upsert|record)[A-Z]/

/** What a verb says about the cost of a function, and how one that does not keep it is found. */
const VERBS: ReadonlyArray<{ verbs: RegExp; says: string; breaks(declared: Declared): boolean }> = [
  {
    verbs: /^(?:make|normalize|parse|format)(?=[A-Z])/,
    says: 'does no input or output',
    // The functions that it returns may do some; their lines are indented further.
    breaks: ({ isAsync, body }) =>
      isAsync ||
      /^ {2}(?:\S.* )?await\b/m.test(body) ||
      /^ {2}\S.*\b(?:read|write|stat|mkdir|open|rm)\w*Sync\(/m.test(body),
  },
  {
    verbs: /^(?:find|upsert|record)(?=[A-Z])/,
    says: 'uses the database',
    breaks: ({ head, body }) => !DATABASE.test(head) && !DATABASE.test(body),
  },
  {
    verbs: /^(?:fetch|list)(?=[A-Z])/,
    says: 'uses the network',
    breaks: ({ path, head, isAsync }) =>
      !NETWORK_ROOM.test(roomOf(path)) || !(isAsync || /Promise<|AsyncGenerator/.test(head)),
  },
  {
    verbs: /^open(?=[A-Z])/,
    says: 'opens what is closed later',
    breaks: ({ isAsync, head, body }) => !isAsync && !/close|Promise|open[A-Z]/.test(`${head}${body}`),
  },
]

/** Lists, as sentences, the functions whose verb says another cost than they have. */
export function listLyingVerbs(files: readonly SourceFile[]): string[] {
  // The sandbox keeps its world in memory: its database is a map.
  const checked = files.filter(({ path }) => roomOf(path) !== 'sandbox')
  return checked.flatMap((file) =>
    functionsOf(file).flatMap((declared) =>
      VERBS.filter(({ verbs, breaks }) => verbs.test(declared.name) && breaks(declared)).map(
        ({ says }) => `${file.path}: ${declared.name} ${says}, by its name`,
      ),
    ),
  )
}

/** Lists the file names that stand twice, but for a verb of the command line and the room it is named after. */
export function listTwinNames(files: readonly SourceFile[]): string[] {
  const byName = new Map<string, string[]>()
  for (const { path } of files) {
    const name = basename(path)
    // Each feature is a folder of its own.
    const isFeatures = path.startsWith('features/')
    if (path.startsWith('program/cli/verbs/') || isFeatures) continue
    byName.set(name, [...(byName.get(name) ?? []), path])
  }
  return [...byName.values()].filter((paths) => paths.length > 1).map((paths) => paths.join(' and '))
}
