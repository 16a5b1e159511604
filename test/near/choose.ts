import { dirname } from 'node:path'
import type { Changed } from './changes.ts'
import { listDeclarations } from './declarations.ts'
import { type Checkout, listImports, mapImporters, reach } from './imports.ts'
import type { TestRecord } from './record.ts'

/** Which tests read files that no test imports. */
const READERS: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(docs\/|[A-Z]+\.md$)/, 'test/docs/'],
  [/^drizzle\/structure\//, 'test/docs/structure'],
  [/^(drizzle\/(?!structure)|src\/core\/store\/schema\/)/, 'test/core/store/'],
  [/^(Dockerfile|docker-compose|package)/, 'test/container/'],
  [/^config\/[^/]+$/, 'test/program/config/'],
  [/^config\/grafana\//, 'test/grafana/'],
  [/^config\/prometheus\//, 'test/prometheus/'],
]
/** Ranks of the tests, lowest first: those that changed, others of a changed folder, readers of changed files, all others. */
const RANKS = { changed: 0, near: 1, reader: 2, far: 3 }
const ROOM = /^(?:src|test)\/((?:core|features|program)\/\w+|\w+)/
/** What a test file takes that has not run here before. */
const UNKNOWN_SECONDS = 5
/** Servers, build and loading, before the first test. */
const START_SECONDS = 8
/** How many seconds of tests pass in one second: four files run at a time, on two cores. */
const AT_A_TIME = 3

/**
 * Makes the function that lists the test files that can see some changes, the nearest first: those that changed, then those of the
 * changed rooms that ran a changed function, first those that share words with its file, then readers of changed files, then others
 * that ran it; of two, the one that runs fewer files of src/. Changed rooms take turns. A room's tests that have no record count as
 * those that ran it.
 */
export function makeNearest(
  checkout: Checkout,
  record: TestRecord,
): (changes: readonly Changed[]) => string[] {
  const tests = [...checkout.keys()].filter((path) => path.endsWith('.test.ts'))
  const importers = mapImporters(checkout)
  const users = makeUsers(checkout, record, importers)
  const filesOfVerb = makeFilesOfVerb(checkout)
  const filesOf = new Map(
    tests.map((test) => {
      const { functions = {}, verbs = [] } = record.get(test) ?? {}
      const byVerbs = new Set(verbs.flatMap((verb) => [...filesOfVerb(verb)]))
      return [test, { byVerbs, count: new Set([...Object.keys(functions), ...byVerbs]).size }] as const
    }),
  )

  function rankBySource({ path, text, lines }: Changed): Array<[test: string, rank: number]> {
    const names = /\.tsx?$/.test(path) ? namesAt(path, text, lines) : ['all of it']
    if (names.length === 0) return []
    const functions = users(names.map((name) => ({ path, name })))
    const isRead = READERS.some(([files]) => files.test(path))
    const own = isRead ? 'none' : `test/${ROOM.exec(path)?.[1]}/`
    const runners = tests.filter(
      (test) =>
        filesOf.get(test)?.byVerbs.has(path) ||
        functions.some(({ path, name }) => record.get(test)?.functions[path]?.includes(name)),
    )
    const unknown = tests.filter(
      (test) => test.startsWith(own) && (runners.length === 0 || !record.has(test)),
    )
    const rankOf = (test: string) =>
      test.startsWith(own) ? RANKS.near + 0.9 - countSharedWords(path, test) / 10 : RANKS.far
    return [...runners, ...unknown].map((test) => [test, rankOf(test)])
  }

  function rankByTestFile({ path }: Changed): Array<[test: string, rank: number]> {
    const folder = `${dirname(path)}/`
    const users = [...reach([path], (file) => importers.get(file) ?? [])].filter((file) =>
      tests.includes(file),
    )
    // What no test imports is read or started by those beside it.
    const near = users.length > 0 ? users : tests.filter((test) => test.startsWith(folder))
    const rankOf = (test: string) => (test.startsWith(folder) ? RANKS.near : RANKS.far)
    return near.map((test) => [test, test === path ? RANKS.changed : rankOf(test)])
  }

  return (changes) => {
    const ranks = new Map<string, number>()
    const ranked = changes.flatMap((change) => [
      ...READERS.filter(([files]) => files.test(change.path)).flatMap(([, folder]) =>
        tests.filter((test) => test.startsWith(folder)).map((test): [string, number] => [test, RANKS.reader]),
      ),
      ...(change.path.startsWith('src/') ? rankBySource(change) : []),
      ...(change.path.startsWith('test/') ? rankByTestFile(change) : []),
    ])
    for (const [test, rank] of ranked) ranks.set(test, Math.min(rank, ranks.get(test) ?? rank))
    const placeOf = (test: string) => [
      ranks.get(test) ?? 0,
      filesOf.get(test)?.count ?? 0,
      secondsOf(record, test),
    ]
    const sorted = [...ranks.keys()].sort((a, b) => comparePlaces(placeOf(a), placeOf(b)))
    const near = sorted.filter((test) => Math.floor(ranks.get(test) ?? 0) === RANKS.near)
    return sorted.toSpliced(sorted.indexOf(near[0] ?? ''), near.length, ...takeTurns(near))
  }
}

function comparePlaces(of: readonly number[], than: readonly number[]): number {
  return of.map((value, index) => value - (than[index] ?? 0)).find((difference) => difference !== 0) ?? 0
}

/** Orders tests so that the first of each room come first, then the second of each. Pure. */
function takeTurns(tests: readonly string[]): string[] {
  const counts = new Map<string | undefined, number>()
  const turns = tests.map((test) => {
    const room = ROOM.exec(test)?.[1]
    const turn = counts.get(room) ?? 0
    counts.set(room, turn + 1)
    return { test, turn }
  })
  return turns.sort((a, b) => a.turn - b.turn).map(({ test }) => test)
}

/** Counts the words of the name of a test that the names of a file and its folder have, too. Pure. */
function countSharedWords(path: string, test: string): number {
  const [words, of] = [path.split('/').slice(-2).join('/'), test.split('/').at(-1) ?? ''].map((name) =>
    name.replace(/\.test\.ts$|\.\w+$/, '').split(/[^a-z]+/),
  )
  return of?.filter((word) => words?.includes(word)).length ?? 0
}

/** Takes the nearest tests, as far as the estimate of their run stays below `maxSeconds`. Pure. */
export function takeWithin(record: TestRecord, nearest: readonly string[], maxSeconds: number) {
  const chosen: string[] = []
  let seconds = 0
  for (const test of nearest) {
    const all = estimate(record, [...chosen, test])
    if (all > maxSeconds) continue
    chosen.push(test)
    seconds = all
  }
  return { chosen, seconds }
}

function estimate(record: TestRecord, files: readonly string[]): number {
  const seconds = files.map((file) => secondsOf(record, file))
  const sum = seconds.reduce((a, b) => a + b, 0)
  return START_SECONDS + Math.max(...seconds, sum / AT_A_TIME)
}

function secondsOf(record: TestRecord, file: string): number {
  return record.get(file)?.seconds ?? UNKNOWN_SECONDS
}

/** Names the innermost declarations of these lines; comments, imports and types are in none. */
function namesAt(path: string, text: string, lines: readonly number[]): string[] {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1), text.length + 1]
  const declarations = listDeclarations(path, text)
  const found = lines.flatMap((line) => {
    const [from = 0, to = 0] = [starts[line - 1], starts[line]]
    const isComment = /^\s*(?:\/\/|\/\*|\*|$)/.test(text.slice(from, to))
    const around = declarations.filter(({ start, end }) => start < to && end > from)
    return isComment ? [] : (around.at(-1)?.name ?? [])
  })
  return [...new Set(found)]
}

type Part = { path: string; name: string }

/** Makes the function that follows declarations to those that tests ran: one that is no function, or never ran, to those that mention it. */
function makeUsers(
  checkout: Checkout,
  record: TestRecord,
  importers: ReadonlyMap<string, readonly string[]>,
) {
  const keyOf = ({ path, name }: Part) => `${path} ${name}`
  const ran = new Set(
    [...record.values()].flatMap(({ functions }) =>
      Object.entries(functions).flatMap(([path, names]) => names.map((name) => keyOf({ path, name }))),
    ),
  )
  return (changed: readonly Part[]): Part[] => {
    const found = new Map(changed.map((part) => [keyOf(part), part]))
    // A map goes on to what is added while it is read.
    for (const [key, { path, name }] of found) {
      if (ran.has(key)) continue
      const mention = new RegExp(`\\b${name.split('.').at(-1)}\\b`)
      for (const user of [path, ...(importers.get(path) ?? [])]) {
        const text = user.startsWith('src/') ? (checkout.get(user) ?? '') : ''
        if (!mention.test(text)) continue
        const users = listDeclarations(user, text).filter(({ start, end }) =>
          mention.test(text.slice(start, end)),
        )
        for (const { name } of users) found.set(keyOf({ path: user, name }), { path: user, name })
      }
    }
    return [...found.values()]
  }
}

/** Makes the function that lists the files of src/ that a verb of the built program loads. */
function makeFilesOfVerb(checkout: Checkout): (verb: string) => ReadonlySet<string> {
  const known = new Map<string, ReadonlySet<string>>()
  const frame = reach(['src/main.ts'], (path) => listImports(checkout, path, 'at the start'))
  return (verb) => {
    const own = [...checkout].filter(
      ([path, text]) =>
        path.startsWith('src/') && text.includes('defineVerb') && text.includes(`name: '${verb}'`),
    )
    const files =
      known.get(verb) ??
      new Set([
        ...frame,
        ...reach(
          own.map(([path]) => path),
          (path) => listImports(checkout, path),
        ),
      ])
    known.set(verb, files)
    return files
  }
}
