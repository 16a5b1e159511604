import { ConfigError, isAbort } from '../../kit/errors.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { nameControls } from '../../kit/text.ts'
import { EXIT } from '../../program/frame/context.ts'
import { defineFeature } from '../../program/frame/define-feature.ts'
import { ASKS, DATABASE } from '../../program/frame/help-of-verbs.ts'
import { readInput } from '../../program/frame/prompt.ts'
import { writeTo } from '../../program/frame/standard-streams.ts'
import { defineVerb, flag } from '../../program/frame/verb.ts'
import type { Notice } from '../../program/query/connection.ts'
import type { Queries } from './raw-query.ts'
import type { Printer } from './sql-formats.ts'

const SUM_HINT =
  'HINT:  Postgres sums columns of type real in single precision, with errors of several percent over millions of rows: write sum(power::float8), or sum from samples_float8 or ride_records_float8'

const sqlVerb = defineVerb({
  name: 'sql [query]',
  description: 'run SQL on the mirror; without a query, read it from standard input',
  options: {
    json: flag('--json', 'one JSON array of rows for each statement').conflicts('csv'),
    csv: flag('--csv', 'CSV with a header line, as psql writes it'),
    expanded: flag('-x, --expanded', 'one value per line, for long values or many columns'),
    table: flag('--no-expanded', 'always a table; on a terminal, cut long values to its width'),
    write: flag('--write', 'allow statements that change the database'),
  },
  help: {
    notes: [
      'Rows are printed as they arrive, in constant memory. On a terminal, rows wider than the terminal are printed one value per line; elsewhere nothing is cut. Ctrl-C cancels the statement at the server.',
      'With --json, repeated column names are numbered: max, max_2. Values of type integer, real and double precision are numbers, boolean is true or false, json stays unchanged; all other values are strings with the digits that Postgres writes.',
      'With --csv, the output is that of psql --csv: NULL and an empty text are both an empty field. A text may begin with =, which a spreadsheet runs as a formula: import text columns as text.',
    ],
    settings: [...DATABASE, 'MUSETTE_READER_URL'],
    exits: ASKS,
    examples: [
      `musette sql 'select name, xss from training.activities limit 5'`,
      'musette sql --csv < question.sql',
    ],
  },
  needs: 'nothing',
  async run({ config, log, signal, note }, { query, write = false, ...form }) {
    const text = query ?? (process.stdin.isTTY ? undefined : await readInput(process.stdin, signal))
    const noQuery = 'no query; run: musette sql "select count(*) from training.activities"'
    if (text === undefined || text.trim() === '') throw new ConfigError('no_query', noQuery)
    const { openDatabaseQueries, remarkLines, sumsReal } = await import('./raw-query.ts')
    if (sumsReal(text)) note(SUM_HINT)
    const printer = await printerFor(form)
    const onNotice = ({ severity, message, ...remarks }: Notice) =>
      note([`${severity}:  ${message}`, ...remarkLines(remarks)].join('\n'))
    try {
      const opened = await openDatabaseQueries(config, log, { write, signal, onNotice })
      await closeAfter(opened, (queries) => printAnswers({ queries, printer }, text, signal))
      return EXIT.done
    } catch (error) {
      if (!isAbort(error, signal)) throw error
      note('musette: stopped; the statement was cancelled')
      return EXIT.interrupted
    }
  },
})

async function printerFor(form: { csv?: boolean; json?: boolean; expanded?: boolean }): Promise<Printer> {
  const { csv, json, expanded } = form
  const { csvPrinter, jsonPrinter, tablePrinter } = await import('./sql-formats.ts')
  if (csv) return csvPrinter
  if (json) return jsonPrinter()
  const columns = process.stdout.isTTY ? process.stdout.columns : undefined
  return tablePrinter({ columns, expanded })
}

async function printAnswers(
  { queries, printer }: { queries: Queries; printer: Printer },
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  stopped.catch(() => undefined)
  // Waits until the reader has taken the piece or the signal aborts. Escapes control characters, which a terminal would obey.
  const write = (piece: string | Uint8Array) =>
    Promise.race([
      writeTo(process.stdout, process.stdout.isTTY ? nameControls(Buffer.from(piece).toString()) : piece),
      stopped,
    ])
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

export const sql = defineFeature({
  name: 'sql',
  verbs: { after: 'config', all: [sqlVerb] },
})
