import { ConfigError, errorCode, isAbort } from '../../kit/errors.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { EXIT } from '../../program/frame/context.ts'
import { ASKS, DATABASE } from '../../program/frame/help-of-verbs.ts'
import { widthOf } from '../../program/frame/output.ts'
import { readInput } from '../../program/frame/prompt.ts'
import { writeTo } from '../../program/frame/standard-streams.ts'
import { defineVerb, flag } from '../../program/frame/verb.ts'
import type { Notice, Queries, RejectedStatement, Remarks } from './raw-query.ts'
import type { Printer } from './sql-formats.ts'

export const sqlVerb = defineVerb({
  name: 'sql [query]',
  description: 'run SQL against the mirror; without a query it is read from standard input',
  options: {
    json: flag('--json', 'one JSON array of rows for each statement').conflicts('csv'),
    csv: flag('--csv', 'CSV with a line of names, as psql writes it'),
    expanded: flag('-x, --expanded', 'one value a line, for long values and many columns'),
    table: flag('--no-expanded', 'always a table; on a terminal, long values are cut to its width'),
    write: flag('--write', 'allow statements that change the database'),
  },
  help: {
    notes: [
      'Rows are printed as they come, however many there are. On a terminal, rows that are wider than it are written one value a line; elsewhere nothing is cut. Ctrl-C cancels the statement at the server.',
      'With --json, a column whose name comes again is numbered: max, max_2. Values of type integer, real and double precision are numbers, boolean is true or false, json stays as it is; all else is a string with the digits that Postgres writes.',
      'With --csv, output is as that of psql --csv: NULL and an empty text are both an empty field. A text may begin with =, which a spreadsheet runs as a formula: import such columns as text.',
    ],
    settings: DATABASE,
    exits: ASKS,
    examples: [
      `musette sql 'select name, xss from training.activities limit 5'`,
      'musette sql --csv < question.sql',
    ],
  },
  needs: 'nothing',
  async run({ config, log, signal, note }, { query, write = false, ...form }) {
    const text = query ?? (process.stdin.isTTY ? undefined : await readInput(process.stdin, signal))
    if (text === undefined || text.trim() === '') {
      throw new ConfigError(
        'no_query',
        'no query; run: musette sql "select count(*) from training.activities"',
      )
    }
    const { openDatabaseQueries } = await import('./raw-query.ts')
    const printer = await printerFor(form)
    const onNotice = ({ severity, message, ...remarks }: Notice) =>
      note([`${severity}:  ${message}`, ...remarkLines(remarks)].join('\n'))
    try {
      return await closeAfter(
        await openDatabaseQueries(config, log, { write, signal, onNotice }),
        async (queries) => {
          await printAnswers({ queries, output: process.stdout, signal }, text, printer)
          return EXIT.done
        },
      )
    } catch (error) {
      if (!isAbort(error, signal)) throw withPlace(error)
      note('musette: stopped; the statement was cancelled')
      return EXIT.interrupted
    }
  },
})

/** The characters of a line that are shown around a mistake, and before it. */
const SHOWN = { all: 60, before: 40 }

/** Adds to an error about a statement where the mistake is and what helps, as psql writes it. */
function withPlace(error: unknown): unknown {
  if (errorCode(error) !== 'sql_rejected') return error
  const { message, place, remarks } = error as Partial<RejectedStatement> & Error
  const lines = [message, ...(place ? placeLines(place) : []), ...remarkLines(remarks ?? {})]
  return new ConfigError('sql_rejected', lines.join('\n'), { cause: error })
}

function placeLines({ line, number, column }: NonNullable<RejectedStatement['place']>): string[] {
  const start = Math.max(0, Math.min(column - SHOWN.before, line.length - SHOWN.all))
  const end = start + SHOWN.all
  const title = `LINE ${number}: ${start > 0 ? '...' : ''}`
  // A tab would be as wide as the terminal likes.
  const plain = line.replace(/\t/g, ' ')
  const caret = ' '.repeat(widthOf(title + plain.slice(start, column)))
  return [`${title}${plain.slice(start, end)}${end < line.length ? '...' : ''}`, `${caret}^`]
}

function remarkLines({ detail, hint }: Remarks): string[] {
  return [...(detail ? [`DETAIL:  ${detail}`] : []), ...(hint ? [`HINT:  ${hint}`] : [])]
}

async function printerFor(form: { csv?: boolean; json?: boolean; expanded?: boolean }): Promise<Printer> {
  const { csv, json, expanded } = form
  const { makeCsvPrinter, makeJsonPrinter, makeTablePrinter } = await import('./sql-formats.ts')
  if (csv) return makeCsvPrinter()
  if (json) return makeJsonPrinter()
  const columns = process.stdout.isTTY ? process.stdout.columns : undefined
  return makeTablePrinter({ columns, expanded })
}

type Deps = { queries: Queries; output: NodeJS.WriteStream; signal: AbortSignal }

async function printAnswers(
  { queries, output, signal }: Deps,
  text: string,
  printer: Printer,
): Promise<void> {
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  stopped.catch(() => undefined)
  // Waits until the reader has read the piece, or until the signal aborts.
  const write = (piece: string | Uint8Array) => Promise.race([writeTo(output, piece), stopped])
  let copied = false
  for await (const part of queries.run(text, signal)) {
    let piece: string | Uint8Array = ''
    if (part.kind === 'fields') piece = printer.begin(part.fields)
    else if (part.kind === 'rows') piece = printer.rows(part.rows)
    else if (part.kind === 'copied') piece = printer.copied(part.bytes)
    else if (!copied) piece = printer.end(part.command)
    copied = part.kind === 'copied'
    if (piece.length > 0) await write(piece)
  }
}
