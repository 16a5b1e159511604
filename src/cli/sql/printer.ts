import type { Field, Row } from '../../store/raw-query.ts'

/** Writes the answers of statements as text, piece by piece; what it returns is printed as it is, line breaks included. */
export type Printer = {
  /** The beginning of an answer that has rows. */
  begin(fields: readonly Field[]): string
  /** The next rows of the answer that has begun. */
  rows(rows: readonly Row[]): string
  /** The next bytes that COPY … TO STDOUT writes. */
  copied(bytes: Uint8Array): Uint8Array
  /** The end of a statement, whether it had an answer with rows or not. */
  end(command: string): string
}
