import type { Upload } from '../store/uploads/uploads.ts'

/**
 * What became of one content of a file. `known`: the ledger had an end for it before; `early`: it is tried again later;
 * `cut`: it was not sent, because bytes of it are missing or wrong.
 */
export type End = { upload: Upload; fileName: string; known: boolean; early: boolean; cut: boolean }

/** The same file again is one whose moving was cut short by a crash; another name with the same bytes is a duplicate. */
export function isTaken({ upload, fileName, known }: End): boolean {
  if (upload.state !== 'accepted' && upload.state !== 'mirrored') return false
  return !known || upload.fileName === fileName
}

/** Writes what became of one content, a line for the text beside the file in failed/. */
export function describeEnd(end: End): string {
  const { fileName, upload } = end
  const { state, reason, activityPath, acceptedAt } = upload
  if (isTaken(end)) return `${fileName}: uploaded: activity ${activityPath ?? 'not named yet'}`
  if (state === 'refused') return `${fileName}: not uploaded: ${reason ?? 'the service refused it'}`
  if (state === 'duplicate') return `${fileName}: duplicate: ${reason ?? `activity ${activityPath}`}`
  const day = acceptedAt ? `, on ${acceptedAt.toISOString().slice(0, 10)}` : ''
  return `${fileName}: duplicate: the same bytes were uploaded as "${upload.fileName}"${day}; activity ${activityPath ?? 'not named yet'}`
}

/** Writes the whole text beside a file in failed/: what became of its contents, and only what helps with these. */
export function describeFile(lines: readonly string[], ends: readonly End[], account: string): string {
  const failed = ends.filter((end) => !isTaken(end))
  const refused = failed.filter(({ upload }) => upload.state === 'refused')
  const unsent = refused.filter(({ upload }) => upload.attempts === 0)
  const advice: string[] = []
  if (refused.length > unsent.length) {
    advice.push('The service refused it. To try again, move the file back into the drop folder.')
  }
  if (unsent.some(({ cut }) => cut)) {
    advice.push(
      'Put a whole copy of the file into the drop folder. If a program still writes to this one, move it back when that is done.',
    )
  }
  if (unsent.some(({ cut }) => !cut)) {
    advice.push('It was not sent: only FIT activities are, and the same file would be refused again.')
  }
  if (failed.length > refused.length) {
    const option = account === 'default' ? '' : ` --account ${account}`
    if (refused.length === 0) advice.push('Nothing needs to be done: the service has it.')
    advice.push(`To send a duplicate all the same: musette upload --force${option} FILE`)
  }
  return `${lines.join('\n')}\n\n${advice.join('\n')}\n`
}
