/** What JSON carries of a value: an instant is an ISO text. */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Json<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Json<T[Key]> }
      : T

/** What the browser gets of a query of the daemon. */
export type Sent<Query extends (...input: never[]) => unknown> = Json<NonNullable<Awaited<ReturnType<Query>>>>
