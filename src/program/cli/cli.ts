import { Command, CommanderError, Option } from 'commander'
import { FEATURES } from '../../features/index.ts'
import { VERSION } from '../../kit/program-folder.ts'
import { ROLES } from '../daemon/roles.ts'
import { type Context, EXIT, exitFor, openContext, type Run } from '../frame/context.ts'
import { loadSettings } from '../frame/define-feature.ts'
import { escapeControls } from '../frame/output.ts'
import type { Verb, VerbHelp } from '../frame/verb.ts'
import { completeVerb, completionVerb } from './completion.ts'
import { accountsAddVerb } from './verbs/accounts-add.ts'
import { configVerb } from './verbs/config.ts'
import { doctorVerb } from './verbs/doctor.ts'
import { keyExportVerb, keyImportVerb, keyRotateVerb } from './verbs/key.ts'
import { accountsListVerb, accountsSetVerb, loginVerb, logoutVerb } from './verbs/login.ts'
import { migrateVerb } from './verbs/migrate.ts'
import { sandboxVerb } from './verbs/sandbox.ts'
import { healthcheckVerb, startVerb } from './verbs/start.ts'
import { statusVerb } from './verbs/status.ts'
import { rebuildVerb, resyncVerb, syncVerb, verifyVerb } from './verbs/sync.ts'
import { attachVerb, uploadVerb } from './verbs/upload.ts'

const CORE: readonly Verb[] = [
  startVerb,
  loginVerb,
  logoutVerb,
  accountsListVerb,
  accountsSetVerb,
  accountsAddVerb,
  syncVerb,
  uploadVerb,
  attachVerb,
  resyncVerb,
  verifyVerb,
  rebuildVerb,
  statusVerb,
  doctorVerb,
  configVerb,
  migrateVerb,
  keyExportVerb,
  keyImportVerb,
  keyRotateVerb,
  healthcheckVerb,
  sandboxVerb,
  completionVerb,
  completeVerb,
]

/** Every verb in the order of the help; the verbs of a feature follow the core verb that the feature names. */
export const VERBS: readonly Verb[] = CORE.flatMap((verb) => [
  { ...verb, help: withFeatures(verb) },
  ...FEATURES.flatMap(({ verbs }) => (verbs?.after === verb.words ? verbs.all : [])),
])

/** Adds the settings of features to the help of a core verb that reads them. */
function withFeatures({ words, help }: Verb): Verb['help'] {
  const settings = FEATURES.flatMap(({ settingsOf }) => settingsOf?.[words] ?? [])
  return help && { ...help, settings: [...help.settings, ...settings] }
}

/** Parses the command line, runs one verb and returns the exit code. Prints a failure as one sentence on standard error. Never throws. */
export async function runCli(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.done
  const program = makeProgram((verb, options) => run(verb, options))
  const run: Run = async (verb, options) => {
    const { settings, envFile } = program.opts<{ settings?: string; envFile?: string }>()
    const context = await openContext(await loadSettings(FEATURES), {
      ...options,
      envFile: settings ?? envFile,
      argv,
      openDaemon,
      features: FEATURES,
    })
    try {
      code = (await verb(context)) ?? EXIT.done
    } catch (error) {
      const exit = exitFor(error, { signal: context.signal, config: context.config })
      context.note(exit.sentence)
      code = exit.code
    } finally {
      context.dispose()
    }
  }
  try {
    await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
    const exit = exitFor(error)
    process.stderr.write(`${escapeControls(exit.sentence)}\n`)
    return exit.code
  }
  return code
}

/** Makes the program with every verb; `run` runs the work of a verb. */
export function makeProgram(run: Run): Command {
  const program = new Command('musette')
    .description('Keeps your whole training history in your own Postgres.')
    .version(VERSION)
    .option('--settings <file>', 'read settings that the environment does not set from this file')
    // Node 20 takes --env-file for itself, even after the name of the program.
    .addOption(new Option('--env-file <file>', 'the same as --settings').hideHelp())
    .exitOverride()
    .showHelpAfterError('(musette --help lists the verbs)')
  for (const { help, add } of VERBS) {
    const command = add(program, run)
    if (help) command.addHelpText('after', helpTextOf(help))
  }
  return program
}

const openDaemon: Context['openDaemon'] = async ({ config, log, signal }) => {
  return (await import('../daemon/daemon.ts')).openDaemon(config, log, { roles: ROLES, signal })
}

/** What each exit code means, in the order of the codes. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done',
  unexpected: 'unexpected',
  usage: 'usage or configuration',
  noLogin: 'no account, or credentials rejected',
  unreachable: 'service or database unreachable, or a full disk (also for standard output)',
  partial: 'finished, but some items failed',
  interrupted: 'stopped by a signal before it finished',
}

/** Returns the exit codes of a verb, each with its meaning, in the order of the codes. */
export function exitsOf({ exits }: Pick<VerbHelp, 'exits'>): Array<[code: number, meaning: string]> {
  return (Object.keys(EXIT) as Array<keyof typeof EXIT>)
    .filter((kind) => ['done', 'unexpected', 'usage'].includes(kind) || exits.includes(kind))
    .map((kind) => [EXIT[kind], EXIT_MEANINGS[kind]])
}

/** Returns the part of a verb's help below its options: notes, settings, exit codes and examples. */
function helpTextOf({ notes = [], settings, exits, examples }: VerbHelp): string {
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

/** The width of the help, in columns: the usual width of a terminal. */
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
