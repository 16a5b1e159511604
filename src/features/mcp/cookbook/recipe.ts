/** One question of the cookbook. */
export type Recipe = {
  number: number
  /** the name of its prompt */
  name: string
  question: string
  /** one statement; each name has its schema, so that it works in any program */
  sql: string
  /** how to read the answer */
  reading: string
}
