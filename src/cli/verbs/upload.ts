import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Command } from 'commander'
import type { AttachedFile } from '../../app/files/attach-files.ts'
import type { HandUpload } from '../../app/files/upload-files.ts'
import { ConfigError, commandFor, errorCode } from '../../kit/errors.ts'
import { formatCount } from '../../kit/text.ts'
import { type Context, EXIT, type Run } from '../context.ts'
import { withAccount, withProgress } from '../with-app.ts'

type UploadOptions = { account?: string; name?: string; force?: boolean }

/** Adds the verb `upload` to the program. */
export function addUploadVerb(program: Command, run: Run): void {
  program
    .command('upload <file...>')
    .description('send FIT files (.fit, .fit.gz, .zip) to the service, each content once')
    .option('--account <account>', 'whose files these are')
    .option('--name <name>', 'what the activity is called; without it the service takes the name of the file')
    .option('--force', 'send again what was uploaded before')
    .action((files: string[], options: UploadOptions) => run((context) => upload(context, files, options)))
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
  const again = commandFor('upload --force', account)
  if (state === 'attached')
    return `${fileName}: not sent, attached to ${activity}, which came another way; to send it: ${again} FILE`
  if (!known) return `${fileName}: ${state}, ${activity}`
  return `${fileName}: ${state}, ${activity}, uploaded before as "${upload.fileName}"; to send it again: ${again} FILE`
}

type AttachOptions = { account?: string; dryRun?: boolean; json?: boolean }

/** Adds the verb `attach` to the program. */
export function addAttachVerb(program: Command, run: Run): void {
  program
    .command('attach <file...>')
    .description(
      'join FIT files, folders and archives of them to activities that are here already; sends nothing',
    )
    .option('--account <account>', 'whose files these are')
    .option('--dry-run', 'say what would be joined, and write nothing')
    .option('--json', 'one JSON object a file, then one with the counts')
    .action((paths: string[], options: AttachOptions) => run((context) => attach(context, paths, options)))
}

async function attach(context: Context, paths: readonly string[], options: AttachOptions): Promise<number> {
  const { dryRun = false, json = false } = options
  const { attachFiles } = await import('../../app/files/attach-files.ts')
  return withAccount(context, { account: options.account, verb: 'attach' }, (app, account) =>
    withProgress(context, 'files', async (line) => {
      const counts = { attached: 0, known: 0, not_attached: 0, passed_over: 0 }
      const sentences: string[] = []
      await attachFiles(app, { account, paths, dryRun, signal: context.signal }, (end, progress) => {
        counts[end.result] += 1
        if (json) context.printJson(end)
        else if (end.result !== 'passed_over') sentences.push(attachedSentence(end, dryRun))
        line.show(progress)
      })
      const said = Object.entries(counts).filter(([, count]) => count > 0)
      const texts = said.map(([result, count]) => `${formatCount(count)} ${result.replace('_', ' ')}`)
      const written = dryRun ? '; nothing was written' : ''
      line.finish(`account "${account}": ${texts.join(', ') || 'no FIT files there'}${written}`)
      for (const sentence of sentences) context.print(sentence)
      if (json) context.printJson({ account, ...counts, dry_run: dryRun })
      return counts.not_attached > 0 ? EXIT.partial : EXIT.done
    }),
  )
}

function attachedSentence({ file, result, activity, reason }: AttachedFile, dryRun: boolean): string {
  if (result === 'attached')
    return `${file}: ${dryRun ? 'would be attached' : 'attached'} to activity ${activity}`
  return result === 'known' ? `${file}: activity ${activity}, ${reason}` : `${file}: not attached: ${reason}`
}
