import { existsSync } from 'node:fs'
import { FEATURES } from '../../src/features/index.ts'
import type { Config } from '../../src/program/config/config.ts'

/** Words after `musette`, with right arguments. */
export type Line = readonly string[]

/** The command lines that tests of the program type, each verb in at least one list. */
export type VerbLines = Readonly<{
  /** read or change data that must be there: they say what to type in an empty folder and an empty database */
  asks?: readonly Line[]
  /** say so in an empty folder, and work in an empty database */
  connects?: readonly Line[]
  /** answer in a mirror without activities, and leave no file */
  reads?: readonly Line[]
  /** the verbs that need no data, or that other tests try where there are none */
  others?: readonly string[]
  /** of one account, without its name */
  ofAccount?: readonly Line[]
  /** of one account or of all, and with the name of one */
  refuses?: readonly Line[]
  /** the verbs of one account whose output does not say whose it is */
  silent?: readonly string[]
  /** the verbs that make an account, or are about all of them unless one is named */
  ofAll?: readonly string[]
  /** write an answer to standard output; `path` is that of an activity */
  prints?: (path: string) => ReadonlyArray<{ line: Line; input?: string }>
}>

/** The file and the title of a test that types a command as the program printed it, in the situation that it is for; or why none can. */
export type Proof = readonly [file: string, title: string] | { readonly why: string }

type CommandRows = Readonly<{
  /** each command that a person is told to type */
  commands?: Readonly<Record<string, Proof>>
  /** the parts of commands that need no quotes for a shell: names with a rule, numbers, and what is quoted where it is made */
  plain?: readonly string[]
}>

/** What the table of situations is made with. */
export type Scene = Readonly<{
  folder: string
  /** the first eight characters of the line of the database */
  line: string
  /** makes the statement of a run so long ago; `account` has those of the first account */
  run(resource: string, ago: string, outcome: string, kind?: string, account?: string): string
  without(resource: string): string
}>

export type SituationRows = Readonly<{
  /** makes the settings, and the files that they name */
  env?: (folder: string, line: string) => Promise<Record<string, string>>
  /** the statements and runs that put it in order */
  well?: readonly string[]
  runs?: readonly string[]
  /** The code | what is done in the database | a part of the sentence | the command; the table of the code says where it is shown. */
  situations?: (scene: Scene) => string
  /** what else than the database differs in a situation that begins with these words */
  settings?: Readonly<Record<string, (config: Config, folder: string) => Config>>
  /** codes that need folders or accounts of others, which other tests see */
  elsewhere?: readonly string[]
}>

/** What a feature adds to the tables of the program's tests; `test/features/<name>/rows.ts` holds it as `ROWS`. */
export type FeatureRows = VerbLines & CommandRows & SituationRows

/** Loads the rows of all features that have some, each with the name of its feature. */
export async function loadFeatureRows(): Promise<Array<FeatureRows & { name: string }>> {
  const found = FEATURES.map(async ({ name }) => {
    const url = new URL(`../features/${name}/rows.ts`, import.meta.url)
    return existsSync(url) ? [{ name, ...((await import(url.href)) as { ROWS: FeatureRows }).ROWS }] : []
  })
  return (await Promise.all(found)).flat()
}
