import type { Upload } from '../store/uploads.ts'

/** Writes what became of one content that was not taken as a new activity, for the text beside the file in failed/. */
export function tellFailed(upload: Upload, fileName: string): string {
  const { state, reason, activityPath, acceptedAt } = upload
  if (state === 'refused') return `${fileName}: not uploaded: ${reason ?? 'the service refused it'}`
  if (state === 'duplicate') return `${fileName}: duplicate: ${reason ?? `activity ${activityPath}`}`
  const day = acceptedAt ? `, on ${acceptedAt.toISOString().slice(0, 10)}` : ''
  return `${fileName}: duplicate: the same bytes were uploaded as "${upload.fileName}"${day}; activity ${activityPath ?? 'not named yet'}`
}

/** Writes the whole text beside a file in failed/: what became of its contents, and what to do. */
export function tellFile(lines: readonly string[], input: { refused: boolean; account: string }): string {
  const account = input.account === 'default' ? '' : ` --account ${input.account}`
  const todo = input.refused
    ? 'To try again, move the file back into the drop folder.'
    : 'Nothing needs to be done: the service has it.'
  const force = `To send it all the same: musette upload --force${account} FILE`
  return `${lines.join('\n')}\n\n${todo}\n${force}\n`
}
