/** What a test file ran: the functions of each file of src/ in its own process, and the verbs of the built program in others. */
export type Ran = { functions: Record<string, string[]>; verbs: string[] }

declare global {
  // Written by the code that `withMarks` of declarations.ts puts into the files of src/.
  var __ran: Record<string, { names: string[]; marks: Uint8Array }> | undefined
}
declare module 'vitest' {
  interface TaskMeta {
    ran?: Ran
  }
}

const verbs = new Set<string>()

/** Notes that a test starts a verb of the built program. */
export function noteVerb(verb: string | undefined): void {
  if (verb) verbs.add(verb)
}

/** Returns what has run since the last call, and forgets it. */
export function takeRan(): Ran {
  const functions: Ran['functions'] = {}
  for (const [path, { names, marks }] of Object.entries(globalThis.__ran ?? {})) {
    const ran = names.filter((_name, index) => marks[index] === 1)
    if (ran.length > 0) functions[path] = [...new Set(ran)]
    marks.fill(0)
  }
  const ran = { functions, verbs: [...verbs] }
  verbs.clear()
  return ran
}
