import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Command } from 'commander'
import type { HandUpload } from '../../app/files/upload-files.ts'
import { ConfigError, commandFor, errorCode } from '../../kit/errors.ts'
import { type Context, EXIT, type Run } from '../context.ts'
import { withAccount } from '../with-app.ts'

type UploadOptions = { account?: string; name?: string; force?: boolean }

/** Adds the verb `upload` to the program. */
export function addUploadVerb(program: Command, run: Run): void {
  program
    .command('upload <file...>')
    .description('send FIT files (.fit, .fit.gz, .zip) to the service, each content once')
    .option('--account <account>', 'whose files these are')
    .option('--name <name>', 'what the activity is called; without it the service takes the name of the file')
    .option('--force', 'send again what was uploaded before')
    .action((files: string[], options: UploadOptions) =>
      run((context) => upload(context, files, options), { quiet: true }),
    )
}

async function upload(context: Context, paths: string[], options: UploadOptions): Promise<number> {
  if (options.name !== undefined && paths.length > 1) {
    throw new ConfigError('one_name', '--name is for one file; run musette upload for each')
  }
  const { uploadByHand } = await import('../../app/files/upload-files.ts')
  const files = await Promise.all(paths.map(async (path) => ({ path, bytes: await readNamed(path) })))
  const chosen = { account: options.account, verb: 'upload' } as const
  return withAccount(context, chosen, async (app, account) => {
    let failed = 0
    for (const file of files) {
      const ends = await uploadByHand(app, {
        ...file,
        account,
        force: options.force ?? false,
        ...(options.name !== undefined && { name: options.name }),
        signal: context.signal,
        onWait: noteChanges(context, basename(file.path)),
        onOpen: (program) =>
          context.note(`${file.path}: ${program} has it open for writing; what it adds is not sent`),
      })
      for (const end of ends) {
        context.print(sentenceOf(end, account))
        if (end.problem !== undefined || end.upload.state === 'refused') failed += 1
      }
    }
    return failed > 0 ? EXIT.partial : EXIT.done
  })
}

/** Returns a function that notes the state of an upload when it changes. */
function noteChanges(
  context: Context,
  fileName: string,
): (upload: { state: string; reason: string | null }) => void {
  let said: string | undefined
  return ({ state, reason }) => {
    const sentence = `${fileName}: ${state}${reason ? ` (${reason})` : ''}; waiting`
    if (sentence !== said) context.note(sentence)
    said = sentence
  }
}

async function readNamed(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new ConfigError('no_file', `cannot read ${path} (${errorCode(error)})`, { cause: error })
  }
}

function sentenceOf(end: HandUpload, account: string): string {
  if (end.problem !== undefined) return `${end.fileName}: refused: ${end.problem}`
  const { upload, known, fileName } = end
  const { state, activityPath, reason } = upload
  if (state === 'refused') return `${fileName}: refused: ${reason ?? 'the service gave no reason'}`
  const activity = `activity ${activityPath ?? '(not named yet)'}`
  if (state === 'duplicate')
    return `${fileName}: duplicate, ${activity}: ${reason ?? 'the service had it already'}`
  if (!known) return `${fileName}: ${state}, ${activity}`
  const again = commandFor('upload --force', account)
  return `${fileName}: ${state}, ${activity}, uploaded before as "${upload.fileName}"; to send it again: ${again} FILE`
}
