import { Command } from 'commander'
import { VERBS } from '../../../src/program/cli/cli.ts'
import { type Line, loadFeatureRows, type VerbLines } from '../../kit/feature-rows.ts'

const split = (text: string): Line[] => text.split(', ').map((line) => line.split(' '))

const CORE: Required<VerbLines> = {
  asks: split(
    'status, accounts --json, rebuild, key rotate, logout default, verify, sync, resync 0f, accounts set --timezone UTC',
  ),
  connects: split('migrate --plan'),
  reads: split('status, accounts, doctor'),
  others: [
    ...['start', 'login', 'upload', 'attach', 'doctor', 'config'],
    ...['healthcheck', 'sandbox', 'completion', 'complete', 'key export', 'key import'],
    'accounts add',
  ],
  ofAccount: split(
    'sync, verify, resync nowhere, rebuild, upload ride.fit, attach ride.fit, accounts set --timezone Europe/Berlin, logout',
  ),
  refuses: [],
  silent: ['upload'],
  ofAll: ['login', 'status'],
  prints: () =>
    split('status, status --json, sync --json, completion bash, --help').map((line) => ({ line })),
}

const rows = [CORE, ...(await loadFeatureRows())]

/** The command lines of all verbs, of the core and of features. */
export const LINES = {
  asks: rows.flatMap(({ asks }) => asks ?? []),
  connects: rows.flatMap(({ connects }) => connects ?? []),
  reads: rows.flatMap(({ reads }) => reads ?? []),
  others: rows.flatMap(({ others }) => others ?? []),
  // One of these lines signs out.
  ofAccount: rows
    .flatMap(({ ofAccount }) => ofAccount ?? [])
    .sort((a, b) => Number(a[0] === 'logout') - Number(b[0] === 'logout')),
  refuses: rows.flatMap(({ refuses }) => refuses ?? []),
  silent: rows.flatMap(({ silent }) => silent ?? []),
  ofAll: rows.flatMap(({ ofAll }) => ofAll ?? []),
  prints: (path: string) => rows.flatMap(({ prints }) => prints?.(path) ?? []),
}

/** Every verb with its command, by its words. */
const COMMANDS = new Map(
  VERBS.map((verb) => [verb.words, verb.add(new Command(), async () => undefined)] as const),
)

/** Returns the words of the verb in a line: `accounts list` for `accounts`. */
export function wordsOfVerb([first = '', second = '']: Line): string {
  const words = [...COMMANDS.keys()].filter((words) => words.split(' ')[0] === first)
  const found = words.find((words) => words === `${first} ${second}`) ?? words[0]
  if (found === undefined) throw new Error(`there is no verb "${first}"`)
  return found
}

/** How a verb takes the name of an account; undefined if it takes none. */
export function accountOf(words: string): 'argument' | 'option' | undefined {
  const command = COMMANDS.get(words)
  if (command?.registeredArguments.some((argument) => argument.name() === 'account')) return 'argument'
  return command?.options.some(({ long }) => long === '--account') ? 'option' : undefined
}

export function withAccount(line: Line, name: string): Line {
  const words = wordsOfVerb(line)
  const { length } = words.split(' ')
  const named = accountOf(words) === 'argument' ? [name] : ['--account', name]
  return [...line.slice(0, length), ...named, ...line.slice(length)]
}
