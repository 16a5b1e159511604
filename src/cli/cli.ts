import { Command, CommanderError, Option } from 'commander'
import { EXIT, exitFor, openContext, type Run } from '../frame/context.ts'
import { escapeControls } from '../frame/output.ts'
import type { AddVerb } from '../frame/verb.ts'
import { VERSION } from '../kit/program-folder.ts'
import { addCompletionVerbs } from './completion.ts'
import { addHelp } from './help.ts'
import { addChangesVerb } from './verbs/changes.ts'
import { addConfigVerb } from './verbs/config.ts'
import { addDbHoldVerb, addDbUrlVerb, addReaderVerb } from './verbs/connections.ts'
import { addBackupVerb, addMigrateVerb, addRestoreVerb } from './verbs/database.ts'
import { addDoctorVerb } from './verbs/doctor.ts'
import { addExportVerb, addWorkoutExportVerb, addWorkoutListVerb } from './verbs/export.ts'
import { addKeyRotateVerb } from './verbs/key.ts'
import { addAccountsListVerb, addAccountsSetVerb, addLoginVerb, addLogoutVerb } from './verbs/login.ts'
import { addDemoVerb, addSandboxVerb } from './verbs/sandbox.ts'
import { addMcpVerb, addSqlVerb } from './verbs/sql.ts'
import { addHealthcheckVerb, addStartVerb } from './verbs/start.ts'
import { addStatusVerb } from './verbs/status.ts'
import { addRebuildVerb, addResyncVerb, addSyncVerb, addVerifyVerb } from './verbs/sync.ts'
import { addAttachVerb, addUploadVerb } from './verbs/upload.ts'
import { addWebhookTestVerb } from './verbs/webhook.ts'

/** The verbs in the order of the help. */
const VERBS: readonly AddVerb[] = [
  addStartVerb,
  addLoginVerb,
  addLogoutVerb,
  addAccountsListVerb,
  addAccountsSetVerb,
  addSyncVerb,
  addUploadVerb,
  addAttachVerb,
  addResyncVerb,
  addVerifyVerb,
  addRebuildVerb,
  addExportVerb,
  addWorkoutListVerb,
  addWorkoutExportVerb,
  addStatusVerb,
  addDoctorVerb,
  addConfigVerb,
  addSqlVerb,
  addMcpVerb,
  addChangesVerb,
  addMigrateVerb,
  addBackupVerb,
  addRestoreVerb,
  addDbUrlVerb,
  addDbHoldVerb,
  addReaderVerb,
  addKeyRotateVerb,
  addWebhookTestVerb,
  addHealthcheckVerb,
  addSandboxVerb,
  addDemoVerb,
  addCompletionVerbs,
]

/** Parses the command line, runs one verb and returns the exit code. A failure is one sentence on standard error. Never throws. */
export async function runCli(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.done
  const program = makeProgram((verb, options) => run(verb, options))
  const run: Run = async (verb, options) => {
    const { settings, envFile } = program.opts<{ settings?: string; envFile?: string }>()
    const context = await openContext({ ...options, envFile: settings ?? envFile })
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

/** Makes the program with every verb; `run` runs the work of one. */
export function makeProgram(run: Run): Command {
  const program = new Command('musette')
    .description('Keeps your whole training history in your own Postgres.')
    .version(VERSION)
    .option('--settings <file>', 'read settings that the environment does not set from this file')
    // Node 20 takes this one for itself, even behind the name of the program.
    .addOption(new Option('--env-file <file>', 'the same as --settings').hideHelp())
    .exitOverride()
    .showHelpAfterError('(musette --help lists the verbs)')
  for (const addVerb of VERBS) addVerb(program, run)
  addHelp(program)
  return program
}
