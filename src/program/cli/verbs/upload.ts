import { ConfigError, commandFor } from '../../../kit/errors.ts'
import { formatCount } from '../../../kit/text.ts'
import type { AttachedFile } from '../../app/files/attach-files.ts'
import type { HandUpload } from '../../app/files/upload-files.ts'
import { EXIT } from '../../frame/context.ts'
import { DATABASE, ITEMS, PACE, SERVICE, WHOSE } from '../../frame/help-of-verbs.ts'
import { defineVerb, flag, option } from '../../frame/verb.ts'

export const uploadVerb = defineVerb({
  name: 'upload <file...>',
  description: 'send FIT files (.fit, .fit.gz, .zip), and folders of them, to the service, each content once',
  options: {
    account: option('--account <account>', 'whose files these are'),
    name: option('--name <name>', 'the name of the activity; without it, the service uses the file name'),
    force: flag('--force', 'send files again that were uploaded before'),
  },
  help: {
    notes: [WHOSE],
    settings: [...SERVICE, ...PACE, 'MUSETTE_KEEP_FIT', 'MUSETTE_KNOWN_RIDES'],
    exits: ITEMS,
    examples: ['musette upload morning.fit', 'musette upload *.fit.gz --account partner'],
  },
  needs: 'app',
  async before(_context, { file: paths, name }) {
    const { scanNamed } = await import('../../app/files/named-files.ts')
    const files = await scanNamed(paths)
    if (name !== undefined && files.length > 1)
      throw new ConfigError('one_name', '--name is for one file; run musette upload once per file')
    return files
  },
  async run({ app, signal, ...context }, { account, name, force = false }, files) {
    const { uploadByHand } = await import('../../app/files/upload-files.ts')
    if (files.length === 0) context.note('musette: no FIT files there')
    let failed = 0
    const said = new Map<string, string>()
    await uploadByHand(app, {
      ...{ files, account, force, signal },
      ...(name !== undefined && { name }),
      onEnd(end) {
        context.print(sentenceOf(end, account))
        if (end.problem !== undefined || end.upload.state === 'refused') failed += 1
      },
      onWait(file, { state, reason }) {
        const sentence = `${file}: ${state}${reason ? ` (${reason})` : ''}; waiting`
        if (said.get(file) !== sentence) context.note(sentence)
        said.set(file, sentence)
      },
      onOpen: (file, program) =>
        context.note(`${file}: ${program} has it open for writing, and what it adds later is not sent`),
    })
    return failed > 0 ? EXIT.partial : EXIT.done
  },
})

function sentenceOf(end: HandUpload, account: string): string {
  if (end.problem !== undefined) return `${end.file}: refused: ${end.problem}`
  const { upload, known, file } = end
  const { state, activityPath, reason } = upload
  if (state === 'refused') return `${file}: refused: ${reason ?? 'the service gave no reason'}`
  const activity = `activity ${activityPath ?? '(not named yet)'}`
  if (state === 'duplicate')
    return `${file}: duplicate, ${activity}: ${reason ?? 'the service had it already'}`
  const again = commandFor('upload --force', account)
  if (state === 'attached')
    return `${file}: not sent, attached to ${activity}, which the service got in another way; to send it: ${again} FILE`
  if (!known) return `${file}: ${state}, ${activity}`
  return `${file}: ${state}, ${activity}, uploaded before as "${upload.fileName}"; to send it again: ${again} FILE`
}

export const attachVerb = defineVerb({
  name: 'attach <file...>',
  description: 'attach FIT files, also in folders and archives, to mirrored activities; upload nothing',
  options: {
    account: option('--account <account>', 'whose files these are'),
    dryRun: flag('--dry-run', 'show what would be attached, and write nothing'),
    json: flag('--json', 'one JSON object per file, then one with the counts'),
  },
  help: {
    notes: [
      WHOSE,
      'A file is attached if exactly one activity has its start (within 5 s), its duration (within 2 % or 60 s) and its heart rates or power, and no other file.',
    ],
    settings: [...DATABASE, 'MUSETTE_KEEP_FIT'],
    exits: ITEMS,
    examples: ['musette attach export.zip', 'musette attach Activities --dry-run'],
  },
  needs: 'app',
  async run(tools, { file: paths, account, dryRun = false, json }) {
    const { app, signal, print, printJson } = tools
    const { attachFiles } = await import('../../app/files/attach-files.ts')
    const line = tools.beginProgress('files')
    const counts = { attached: 0, known: 0, not_attached: 0, passed_over: 0 }
    const sentences: string[] = []
    await attachFiles(app, { account, paths, dryRun, signal }, (end, progress) => {
      counts[end.result] += 1
      if (json) printJson(end)
      else if (end.result !== 'passed_over') sentences.push(attachedSentence(end, dryRun))
      line.show(progress)
    })
    const said = Object.entries(counts).filter(([, count]) => count > 0)
    const texts = said.map(([result, count]) => `${formatCount(count)} ${result.replace('_', ' ')}`)
    const written = dryRun ? '; nothing was written' : ''
    line.finish(`account "${account}": ${texts.join(', ') || 'no FIT files there'}${written}`)
    for (const sentence of sentences) print(sentence)
    if (json) printJson({ account, ...counts, dry_run: dryRun })
    return counts.not_attached > 0 ? EXIT.partial : EXIT.done
  },
})

function attachedSentence({ file, result, activity, reason }: AttachedFile, dryRun: boolean): string {
  if (result === 'attached')
    return `${file}: ${dryRun ? 'would be attached' : 'attached'} to activity ${activity}`
  return result === 'known' ? `${file}: activity ${activity}, ${reason}` : `${file}: not attached: ${reason}`
}
