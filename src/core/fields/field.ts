/**
 * How a value is read, see `src/core/service/wire/lenient.ts`, and what its column holds. A `key` identifies an object and is required; a
 * `duration` is in seconds; a `flag` is the string `true` or `false`; `any` has only a name.
 */
export type Kind =
  | ('key' | 'identity' | 'name' | 'text' | 'flag')
  | ('number' | 'real' | 'integer' | 'duration' | 'any')

/** A field of the service: its path in the object as sent (`session.max_power`), and the comment of its column, if there is one. */
export type Field<K extends Kind = Kind> = Readonly<{ kind: K; path: string; comment: string | undefined }>

/** Fields by column name, in the order of the table. */
export type Fields = Readonly<Record<string, Field>>

const makeField =
  <K extends Kind>(kind: K) =>
  (path: string, comment?: string): Field<K> => ({ kind, path, comment })

export const key = makeField('key')
export const identity = makeField('identity')
export const name = makeField('name')
export const text = makeField('text')
export const flag = makeField('flag')
export const number = makeField('number')
export const real = makeField('real')
export const integer = makeField('integer')
export const duration = makeField('duration')
export const any = makeField('any')

/** Ending of the comment of a column whose unit the service does not state. */
export const UNTOLD = '; unit not told by the service'

export type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name

type ValueOf<F extends Field> = F['kind'] extends 'number' | 'real' | 'integer' | 'duration' ? number : string
type ColumnOf<L extends Fields, K extends Kind> = {
  [C in keyof L]: L[C]['kind'] extends K ? C : never
}[keyof L] &
  string

/** The fields of a response. A field that was not sent is missing. */
export type Values<L extends Fields> = { [C in ColumnOf<L, 'key'> as Camel<C>]: string } & {
  [C in ColumnOf<L, Exclude<Kind, 'key' | 'any'>> as Camel<C>]?: ValueOf<L[C]> | null
}

/** A row by column name, as in the program. */
export type Row<L extends Fields> = { [C in keyof L & string as Camel<C>]: ValueOf<L[C]> | null }

/** A row by column name, as in SQL. */
export type SqlRow<L extends Fields> = { [C in keyof L]: ValueOf<L[C]> | null }

/** Returns the name of a column in the program: `totalCalories` for `total_calories`. */
export function camelCase<Name extends string>(column: Name): Camel<Name> {
  return column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) as Camel<Name>
}

/** Cached column names by fields, because making the names takes longer than making an activity's row. */
const COLUMNS = new WeakMap<Fields, readonly string[]>()

/** Lists the columns of fields as named in the program. */
export function columnsOf<L extends Fields>(fields: L): ReadonlyArray<keyof Row<L>> {
  const columns = COLUMNS.get(fields) ?? Object.keys(fields).map(camelCase)
  COLUMNS.set(fields, columns)
  return columns as ReadonlyArray<keyof Row<L>>
}

/** Makes a row from values, with null for missing values. */
export function makeRow<L extends Fields>(fields: L, values: Partial<Row<L>>): Row<L> {
  return Object.fromEntries(columnsOf(fields).map((column) => [column, values[column] ?? null])) as Row<L>
}

/** Returns the fields of an object that is the member `name` of another object. */
export function within<L extends Fields>(name: string, fields: L): L {
  const moved = Object.entries(fields).map(([column, field]) => [
    column,
    { ...field, path: `${name}.${field.path}` },
  ])
  return Object.fromEntries(moved) as L
}
