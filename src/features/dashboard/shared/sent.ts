/** The type of a value after a JSON round trip: an instant becomes an ISO string. */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Json<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Json<T[Key]> }
      : T

/** The type of a query's result in the browser. */
export type Sent<Query extends (...input: never[]) => unknown> = Json<NonNullable<Awaited<ReturnType<Query>>>>

/** Maximum number of account names on a page, because nobody reads more. A person opens other accounts by number. */
export const MAX_ACCOUNTS = 100
