/** The type of a value after JSON: an instant becomes an ISO text. */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Json<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Json<T[Key]> }
      : T

/** The type of the daemon's query result in the browser. */
export type Sent<Query extends (...input: never[]) => unknown> = Json<NonNullable<Awaited<ReturnType<Query>>>>

/** Pages send the names of so many accounts; of more nobody reads them, and the page of any other opens by its number. */
export const MAX_ACCOUNTS = 100
