import type { Logger } from 'pino'
import { z } from 'zod'

/**
 * Says that a variable is wrong, by a sentence that begins after its name and holds no value. With `part` only a part of the program needs
 * it: that reports it, and the rest goes on.
 */
export type Complain = (variable: string, sentence: string, part?: 'part') => void

/** Where a database is, and the values of features. */
type Place = Readonly<{
  features: ReadonlyMap<SettingsGroup, unknown>
  dataDir: string
  databaseUrl: string | undefined
}>

/**
 * Does what settings demand before a newer version changes a database, and returns the folder that it fills and the room that it needs there;
 * undefined when they demand nothing. A plan does nothing.
 */
export type BeforeChange = (
  deps: Readonly<{ config: Place; log: Logger }>,
  input: { connectionString: string; signal: AbortSignal; isPlan?: boolean },
) => Promise<{ dir: string; needed_bytes: number } | undefined>

/** Returns the folder of the backups, and what they are called there: the names begin with the moment; undefined for no folder. */
export type ReadBackups = (config: Place) => { dir: string; names: RegExp } | undefined

/** The settings that belong together: those of core and program, or of one feature. */
export type SettingsGroup<Value = unknown> = Readonly<{
  variables: Readonly<Record<string, z.ZodType>>
  /** secrets and URLs, which can also be read from the file that the variable `…_FILE` names */
  fromFile: readonly string[]
  /** what `musette config` does not show */
  hidden: readonly string[]
  beforeChange: BeforeChange | undefined
  backups: ReadBackups | undefined
  /** Reads the value of the texts of the variables that are set. A wrong one is complained about, and gets its default. */
  read(texts: Readonly<Record<string, string>>, complain: Complain): Value
  /** Returns the value as it was read with the configuration. */
  of(config: Readonly<{ features: ReadonlyMap<SettingsGroup, unknown> }>): Value
}>

/** zod compiles a function for a schema, which is slower for one that is used once. */
const ONCE = { jitless: true } as const

/** Makes the settings of variables by their checks; `read` makes one value of the parsed ones, and complains about those that do not go together. */
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

/** Every setting of several groups, in their order; `names` has also those with `_FILE`. */
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

/** Returns the text of a variable's default, undefined for one that has none. */
export function defaultOf(variable: z.ZodType | undefined): string | undefined {
  if (!variable) return undefined
  const { default: text } = z.toJSONSchema(variable, { io: 'input', unrepresentable: 'any' })
  return text === undefined ? undefined : String(text)
}
