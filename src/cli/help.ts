import type { Command } from 'commander'
import type { VARIABLES } from '../config/variables.ts'
import { EXIT } from '../frame/context.ts'

type Variable = keyof typeof VARIABLES

export type VerbHelp = {
  /** paragraphs beyond the options */
  notes?: readonly string[]
  /** the settings of the verb, except MUSETTE_LOG_LEVEL */
  settings: readonly Variable[]
  /** the exit codes except 0, 1 and 2, which every verb has */
  exits: ReadonlyArray<keyof typeof EXIT>
  examples: readonly string[]
}

const NETWORK = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS'] as const
const DATABASE = ['DATABASE_URL', 'MUSETTE_DATA_DIR'] as const
const KEYED = [...DATABASE, 'MUSETTE_SECRET_KEY'] as const
const SERVICE = [
  ...DATABASE,
  'MUSETTE_TIMEZONE',
  'MUSETTE_SECRET_KEY',
  'MUSETTE_BASE_URL',
  'MUSETTE_CLIENT_ID',
  'MUSETTE_CLIENT_SECRET',
  ...NETWORK,
] as const
const PACE = ['MUSETTE_CONCURRENCY', 'MUSETTE_REQUESTS_PER_MINUTE'] as const
const MIRROR = [...SERVICE, ...PACE, 'MUSETTE_HISTORY_START', 'MUSETTE_KEEP_RAW'] as const
const WHOSE = 'Without an account: default, else the only account.'
const ASKS = ['unreachable', 'interrupted'] as const
const SIGNED_IN = ['noLogin', 'unreachable', 'interrupted'] as const
const ITEMS = [...SIGNED_IN, 'partial'] as const

/** The help of each verb without its options. */
export const HELP: Readonly<Record<string, VerbHelp>> = {
  start: {
    settings: [
      ...MIRROR,
      'MUSETTE_MIGRATE',
      'REDIS_URL',
      'MUSETTE_DROP_DIR',
      'MUSETTE_AFTER_UPLOAD',
      'MUSETTE_SETTLE',
      'MUSETTE_KNOWN_RIDES',
      'MUSETTE_WATCH_POLLING',
      'MUSETTE_WORKOUT_DIR',
      'MUSETTE_WORKOUTS',
      'MUSETTE_EXPORT_DIR',
      'MUSETTE_EXPORT_EVERY',
      'MUSETTE_BACKUP_DIR',
      'MUSETTE_BACKUP_EVERY',
      'MUSETTE_BACKUP_KEEP',
      'MUSETTE_KEEP_FIT',
      'MUSETTE_WEBHOOKS',
      'MUSETTE_HEARTBEAT_URL',
      'MUSETTE_MQTT_URL',
      'MUSETTE_MQTT_PASSWORD',
      'MUSETTE_MQTT_CA',
      'MUSETTE_MQTT_CERT',
      'MUSETTE_MQTT_KEY',
      'MUSETTE_MQTT_COMMANDS',
      'MUSETTE_POLL_EVERY',
      'MUSETTE_RECONCILE_EVERY',
      'MUSETTE_LAG',
      'MUSETTE_SCRUB_PER_DAY',
      'MUSETTE_HTTP',
      'MUSETTE_HTTP_PATH',
      'MUSETTE_HTTP_TOKEN',
      'MUSETTE_MAP_TILES',
    ],
    exits: ['unreachable'],
    examples: ['musette start', 'musette start --roles worker,web'],
  },
  login: {
    settings: SERVICE,
    exits: SIGNED_IN,
    examples: ['musette login --username rider', 'musette login partner --browser --client-id my_app'],
  },
  logout: { notes: [WHOSE], settings: KEYED, exits: SIGNED_IN, examples: ['musette logout partner'] },
  'accounts list': { settings: KEYED, exits: ASKS, examples: ['musette accounts --json'] },
  'accounts set': {
    notes: [WHOSE],
    settings: KEYED,
    exits: SIGNED_IN,
    examples: [
      'musette accounts set default --timezone Europe/Berlin',
      'musette accounts set default --resting-hr 48 --max-hr 188',
    ],
  },
  sync: {
    notes: [WHOSE],
    settings: [...MIRROR, 'MUSETTE_LAG', 'MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'],
    exits: ITEMS,
    examples: ['musette sync', 'musette sync partner --full'],
  },
  upload: {
    notes: [WHOSE],
    settings: [...SERVICE, ...PACE, 'MUSETTE_KEEP_FIT', 'MUSETTE_KNOWN_RIDES'],
    exits: ITEMS,
    examples: ['musette upload morning.fit', 'musette upload *.fit.gz --account partner'],
  },
  attach: {
    notes: [
      WHOSE,
      'A file is joined to the only activity that starts with it, within 5 s, lasts as long, within 2 % or 60 s, has its heart rates or its power, and has no other file.',
    ],
    settings: [...DATABASE, 'MUSETTE_KEEP_FIT'],
    exits: [...SIGNED_IN, 'partial'],
    examples: ['musette attach export.zip', 'musette attach Activities --dry-run'],
  },
  resync: { notes: [WHOSE], settings: MIRROR, exits: ITEMS, examples: ['musette resync --since 2026-01-01'] },
  verify: {
    notes: [
      WHOSE,
      'Each value is fetched again, so this takes as long as the first sync of those activities. The daemon compares MUSETTE_SCRUB_PER_DAY a day by itself.',
    ],
    settings: MIRROR,
    exits: ITEMS,
    examples: ['musette verify', 'musette verify --all --repair', 'musette verify 3f0c2b --json'],
  },
  rebuild: { notes: [WHOSE], settings: DATABASE, exits: ITEMS, examples: ['musette rebuild'] },
  export: {
    notes: [WHOSE],
    settings: DATABASE,
    exits: ITEMS,
    examples: [
      'musette export 3f0c2b --format csv > ride.csv',
      'musette export --all --format parquet --to history',
      'musette export --all --to history --originals --raw',
      'musette export --all --to history --check',
    ],
  },
  'workout list': {
    notes: [WHOSE],
    settings: DATABASE,
    exits: ASKS,
    examples: ['musette workout list', 'musette workout list --json'],
  },
  'workout export': {
    notes: [
      WHOSE,
      'With --to, a file that you made or changed is never overwritten or removed. With --all, files of workouts that are gone are removed.',
    ],
    settings: [...DATABASE, 'MUSETTE_WORKOUT_DIR'],
    exits: [...ASKS, 'partial'],
    examples: [
      "musette workout export 'Lunch Tempo' --format zwo > tempo.zwo",
      'musette workout export --all --format fit --to workouts',
    ],
  },
  status: { settings: [...KEYED, 'REDIS_URL'], exits: ASKS, examples: ['musette status'] },
  doctor: { settings: [], exits: ['noLogin', ...ASKS], examples: ['musette doctor'] },
  config: {
    settings: [],
    exits: [],
    examples: ['musette config', 'musette --settings my.env config --json'],
  },
  sql: {
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
  mcp: {
    notes: [
      'An assistant starts this command itself; docs/assistants.md has the lines to paste. It ends when its input ends. A daemon answers the same at /mcp of its web surface.',
    ],
    settings: [...DATABASE, 'MUSETTE_READER_URL'],
    exits: ASKS,
    examples: ['musette mcp --account default'],
  },
  changes: {
    notes: [
      'Each line is one change, in the order of the commits. A program continues with --since and the highest number that it has read; docs/schema.md explains kind and detail. Changes are kept for 90 days.',
      '--follow ends at Ctrl-C, or at the next change after its reader has gone.',
    ],
    settings: DATABASE,
    exits: SIGNED_IN,
    examples: ['musette changes --since 120 --follow --json'],
  },
  migrate: {
    notes: [
      'Each plan names the tables of which reads or writes wait, their sizes, and about how long that takes. docs/installing.md tells how to upgrade.',
    ],
    settings: [...DATABASE, 'REDIS_URL'],
    exits: ASKS,
    examples: ['musette migrate --plan', 'musette migrate'],
  },
  backup: {
    settings: DATABASE,
    exits: ASKS,
    examples: [
      'musette backup training.tar',
      'musette backup --verify training.tar',
      'musette backup - | ssh nas "cat > training.tar"',
    ],
  },
  restore: { settings: DATABASE, exits: ASKS, examples: ['musette restore training.tar'] },
  'db-url': { settings: DATABASE, exits: ASKS, examples: ['psql "$(musette db-url)"'] },
  reader: {
    settings: DATABASE,
    exits: ASKS,
    examples: ['musette reader grafana --statement-timeout 1m', 'musette reader coach --account anna'],
  },
  'key rotate': { settings: KEYED, exits: [...ASKS, 'partial'], examples: ['musette key rotate'] },
  'webhook test': {
    settings: ['MUSETTE_WEBHOOKS', ...NETWORK],
    exits: [...ASKS, 'partial'],
    examples: ['musette webhook test phone'],
  },
  healthcheck: {
    settings: ['MUSETTE_HTTP', 'MUSETTE_HTTP_TOKEN'],
    exits: ['unreachable'],
    examples: ['musette healthcheck'],
  },
  sandbox: { settings: [], exits: [], examples: ['musette sandbox --port 8789 --activities 40'] },
  demo: { settings: ['MUSETTE_DATA_DIR'], exits: ASKS, examples: ['musette demo --once'] },
  completion: {
    notes: [
      'In ~/.bashrc, or in ~/.zshrc after compinit, write: source <(musette completion bash), with zsh in its place there. For fish, save the script as ~/.config/fish/completions/musette.fish.',
    ],
    settings: [],
    exits: [],
    examples: ['musette completion fish > ~/.config/fish/completions/musette.fish'],
  },
}

/** What each exit code means, in the order of the codes. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done',
  unexpected: 'unexpected',
  usage: 'usage or configuration',
  noLogin: 'no account, or credentials rejected',
  unreachable:
    'service or database unreachable, or a full disk, also the one that standard output is written to',
  partial: 'finished, but some items failed',
  interrupted: 'stopped by a signal before it was done',
}

/** Adds settings, exit codes and examples to the help of every verb of `program`. */
export function addHelp(program: Command): void {
  for (const [name, verb] of verbsOf(program)) {
    const help = HELP[name]
    if (help) verb.addHelpText('after', textOf(help))
  }
}

/** Returns the verbs of a program by name, those within a verb as `key rotate`. */
export function verbsOf(program: Command, before = ''): Array<[name: string, verb: Command]> {
  return program.commands.flatMap((command) => {
    const name = `${before}${command.name()}`
    return command.commands.length === 0 ? [[name, command] as const] : verbsOf(command, `${name} `)
  }) as Array<[string, Command]>
}

/** Returns the exit codes of a verb, each with its meaning, in the order of the codes. */
export function exitsOf({ exits }: Pick<VerbHelp, 'exits'>): Array<[code: number, meaning: string]> {
  return (Object.keys(EXIT) as Array<keyof typeof EXIT>)
    .filter((kind) => ['done', 'unexpected', 'usage'].includes(kind) || exits.includes(kind))
    .map((kind) => [EXIT[kind], EXIT_MEANINGS[kind]])
}

function textOf({ notes = [], settings, exits, examples }: VerbHelp): string {
  const codes = exitsOf({ exits }).map(([code, meaning]) => `  ${String(code).padEnd(3)}  ${meaning}`)
  const parts = [
    ...notes.flatMap((note) => [...wrap(note.split(' ')), '']),
    ...(settings.length === 0
      ? []
      : ['Settings (musette config explains them):', ...wrap(settings, '  '), '']),
    'Exit codes:',
    ...codes,
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((example) => `  ${example}`),
  ]
  return `\n${parts.join('\n')}`
}

/** The width of a terminal that nobody has widened, in columns. */
const WIDTH = 80

function wrap(words: readonly string[], indent = ''): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > WIDTH) {
      lines.push(line)
      line = ''
    }
    line += line === '' ? `${indent}${word}` : ` ${word}`
  }
  return [...lines, line]
}
