import type pg from 'pg'
import { ConfigError, errorLine } from '../../kit/errors.ts'
import type { Remarks } from '../../program/query/connection.ts'

/** The line of Postgres's mistake; the column is the number of characters before it. */
type Place = { line: string; number: number; column: number }

/** Postgres's refusal of a statement that a person typed: ConfigError `sql_rejected` with all that helps to correct it. */
export class RejectedStatement extends ConfigError {
  readonly place: Place | undefined
  readonly remarks: Remarks

  constructor(error: pg.DatabaseError, text: string, advice: string) {
    // The person wrote the statement, so the whole message of Postgres may be shown.
    super('sql_rejected', `SQL: ${errorLine(error)}${advice}`, { cause: error })
    this.place = error.internalQuery
      ? placeOf(error.internalQuery, error.internalPosition)
      : placeOf(text, error.position)
    this.remarks = { detail: error.detail, hint: error.hint }
  }
}

/** Returns the place of a position that Postgres counts in characters from 1. */
function placeOf(text: string, position: string | undefined): Place | undefined {
  if (position === undefined) return undefined
  const before = [...text].slice(0, Number(position) - 1).join('')
  const number = before.split('\n').length
  const start = before.lastIndexOf('\n') + 1
  const line = text.slice(start).split('\n', 1)[0] ?? ''
  return { line, number, column: before.length - start }
}
