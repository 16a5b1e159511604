type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name

/**
 * Picks fields of an object as sent for the columns of a row, null where one is missing: `total_calories` becomes `totalCalories`, and
 * with the prefix `sig` the field `ftp` becomes `sigFtp`.
 */
export function pickFields<Wire extends object, Name extends string & keyof Wire, Prefix extends string = ''>(
  wire: Wire | null | undefined,
  names: readonly Name[],
  prefix?: Prefix,
) {
  const columnOf = (name: string) =>
    (prefix ? `${prefix}_${name}` : name).replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(names.map((name) => [columnOf(name), wire?.[name] ?? null])) as {
    [N in Name as Camel<Prefix extends '' ? N : `${Prefix}_${N}`>]: NonNullable<Wire[N]> | null
  }
}
