import { existsSync } from 'node:fs'
import { FEATURES } from '../../src/features/index.ts'
import type { Config } from '../../src/program/config/config.ts'

/** The words after `musette`, with valid arguments. */
export type Line = readonly string[]

/** The command lines that tests of the program run. Each verb is in at least one list. */
export type VerbLines = Readonly<{
  /** need existing data: in an empty folder and an empty database they say what to type */
  asks?: readonly Line[]
  /** need a database: they say so in an empty folder, and work in an empty database */
  connects?: readonly Line[]
  /** work in a mirror without activities, and leave no file */
  reads?: readonly Line[]
  /** verbs that need no data, or whose lack of data other tests cover */
  others?: readonly string[]
  /** lines for one account, without its name */
  ofAccount?: readonly Line[]
  /** lines for one account or for all of them, with the name of one */
  refuses?: readonly Line[]
  /** verbs for one account whose output does not name it */
  silent?: readonly string[]
  /** verbs that create an account, or are for all accounts unless one is named */
  ofAll?: readonly string[]
  /** lines that write a result to standard output; `path` is the path of an activity */
  prints?: (path: string) => ReadonlyArray<{ line: Line; input?: string }>
}>

/** File and title of the test that runs a command as the program printed it, in the situation it is for; or why no test can. */
export type Proof = readonly [file: string, title: string] | { readonly why: string }

type CommandRows = Readonly<{
  /** each command that a person is told to run */
  commands?: Readonly<Record<string, Proof>>
  /** parts of commands that need no shell quotes: names with a rule, numbers, and text that is already quoted */
  plain?: readonly string[]
}>

/** What situations are made from. */
export type Scene = Readonly<{
  folder: string
  /** the first eight characters of the line of the database */
  line: string
  /** makes the statement that inserts a run `ago`; `account`: whether it belongs to the first account */
  run(resource: string, ago: string, outcome: string, kind?: string, account?: string): string
  without(resource: string): string
}>

export type SituationRows = Readonly<{
  /** makes the settings and the files that they name */
  env?: (folder: string, line: string) => Promise<Record<string, string>>
  /** statements and runs that make the situation healthy */
  well?: readonly string[]
  runs?: readonly string[]
  /** Columns: code, what is done in the database, a part of the sentence, the command. The table of codes says where a finding is shown. */
  situations?: (scene: Scene) => string
  /** what differs besides the database in a situation whose name starts with the key */
  settings?: Readonly<Record<string, (config: Config, folder: string) => Config>>
  /** codes that need folders or accounts of others; other tests cover them */
  elsewhere?: readonly string[]
}>

/** The rows that a feature adds to the tables of the tests of the program. `test/features/<name>/rows.ts` exports them as `ROWS`. */
export type FeatureRows = VerbLines & CommandRows & SituationRows

/** Loads the rows of all features that have some, each with the name of the feature. */
export async function loadFeatureRows(): Promise<Array<FeatureRows & { name: string }>> {
  const found = FEATURES.map(async ({ name }) => {
    const url = new URL(`../features/${name}/rows.ts`, import.meta.url)
    return existsSync(url) ? [{ name, ...((await import(url.href)) as { ROWS: FeatureRows }).ROWS }] : []
  })
  return (await Promise.all(found)).flat()
}
