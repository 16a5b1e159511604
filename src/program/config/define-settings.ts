import type { Logger } from 'pino'
import { z } from 'zod'

/**
 * Reports that a variable is wrong. The sentence continues after the variable's name and contains no value. With `part`, only that part of
 * the program needs the variable; the part reports it, and the rest continues.
 */
export type Complain = (variable: string, sentence: string, part?: 'part') => void

/** Where a database is, and the values of features. */
type Place = Readonly<{
  features: ReadonlyMap<SettingsGroup, unknown>
  dataDir: string
  databaseUrl: string | undefined
}>

/**
 * Does what settings demand before a newer version changes a database, such as a backup. Returns the folder that gets the files and the
 * space needed there, or undefined if the settings demand nothing. For a plan, only returns this.
 */
export type BeforeChange = (
  deps: Readonly<{ config: Place; log: Logger }>,
  input: { connectionString: string; signal: AbortSignal; isPlan?: boolean },
) => Promise<{ dir: string; needed_bytes: number } | undefined>

/** Returns the folder of the backups and the pattern of their names, which begin with the time; undefined if there is no folder. */
export type ReadBackups = (config: Place) => { dir: string; names: RegExp } | undefined

/** Settings that belong together: the settings of core and program, or of one feature. */
export type SettingsGroup<Value = unknown> = Readonly<{
  variables: Readonly<Record<string, z.ZodType>>
  /** secrets and URLs, which can also be read from the file that the variable `…_FILE` names */
  fromFile: readonly string[]
  /** settings whose values `musette config` does not show */
  hidden: readonly string[]
  beforeChange: BeforeChange | undefined
  backups: ReadBackups | undefined
  /** Reads the value from the texts of the variables that are set. Reports a wrong variable, which gets its default. */
  read(texts: Readonly<Record<string, string>>, complain: Complain): Value
  /** Returns the value that was read with the configuration. */
  of(config: Readonly<{ features: ReadonlyMap<SettingsGroup, unknown> }>): Value
}>

/** By default zod compiles a function for each schema, which is slower if a schema is used only once. */
const ONCE = { jitless: true } as const

/** Makes settings from variables and their checks; `read` makes one value from the parsed values, and reports values that do not fit together. */
export function defineSettings<Variables extends Record<string, z.ZodType>, Value>({
  variables,
  fromFile = [],
  hidden = [],
  beforeChange,
  backups,
  read,
}: {
  variables: Variables
  fromFile?: ReadonlyArray<keyof Variables & string>
  hidden?: ReadonlyArray<keyof Variables & string>
  beforeChange?: BeforeChange
  backups?: ReadBackups
  read: (values: z.output<z.ZodObject<Variables>>, complain: Complain) => Value
}): SettingsGroup<Value> {
  const schema = z.object(variables)
  const group: SettingsGroup<Value> = {
    ...{ variables, fromFile, hidden, beforeChange, backups },
    read(texts, complain) {
      const right = { ...texts }
      for (const { path, message } of schema.safeParse(texts, ONCE).error?.issues ?? []) {
        const variable = path.join('.')
        complain(variable, message)
        delete right[variable]
      }
      return Object.freeze(read(schema.parse(right, ONCE), complain))
    },
    of({ features }) {
      if (!features.has(group))
        throw new Error(`${Object.keys(variables)} were not read with the configuration`)
      return features.get(group) as Value
    },
  }
  return group
}

/** All settings of several groups, in the groups' order; `names` also has the names with `_FILE`. */
export type KnownSettings = ReturnType<typeof joinSettings>

export function joinSettings(groups: readonly SettingsGroup[]) {
  const variables = new Map(groups.flatMap((group) => Object.entries(group.variables)))
  const fromFile = groups.flatMap((group) => group.fromFile)
  const hidden = groups.flatMap((group) => group.hidden)
  return {
    variables,
    fromFile,
    hidden,
    names: [...variables.keys(), ...fromFile.map((name) => `${name}_FILE`)],
  }
}

/** Returns the text of a variable's default, or undefined if it has none. */
export function defaultOf(variable: z.ZodType | undefined): string | undefined {
  if (!variable) return undefined
  const { default: text } = z.toJSONSchema(variable, { io: 'input', unrepresentable: 'any' })
  return text === undefined ? undefined : String(text)
}
