import { commandFor } from '../kit/errors.ts'
import type { Upload } from '../store/uploads/uploads.ts'

/**
 * The result for one content of a file. `known`: the ledger had an end for it before; `paused`: it is sent again later; `cut`:
 * it was not sent, because bytes of it are missing or wrong.
 */
export type ContentResult = {
  upload: Upload
  fileName: string
  known: boolean
  paused: boolean
  cut: boolean
}

/** Whether a content counts as uploaded from this file: the same name again is a move that a crash interrupted, another name a duplicate. */
export function isUploaded({ upload, fileName, known }: ContentResult): boolean {
  if (upload.state !== 'accepted' && upload.state !== 'mirrored') return false
  return !known || upload.fileName === fileName
}

/** Writes the text beside a file in failed/: the result for each content, and the advice that helps with these. */
export function describeFailedFile(results: readonly ContentResult[], account: string): string {
  const failed = results.filter((result) => !isUploaded(result))
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
    if (refused.length === 0) advice.push('Nothing needs to be done: the service has it.')
    advice.push(`To send a duplicate all the same: ${commandFor('upload --force', account)} FILE`)
  }
  return `${results.map(describeContent).join('\n')}\n\n${advice.join('\n')}\n`
}

function describeContent(result: ContentResult): string {
  const { fileName, upload } = result
  const { state, reason, activityPath, acceptedAt } = upload
  if (isUploaded(result)) return `${fileName}: uploaded: activity ${activityPath ?? 'not named yet'}`
  if (state === 'refused') return `${fileName}: not uploaded: ${reason ?? 'the service refused it'}`
  if (state === 'duplicate') return `${fileName}: duplicate: ${reason ?? `activity ${activityPath}`}`
  const day = acceptedAt ? `, on ${acceptedAt.toISOString().slice(0, 10)}` : ''
  return `${fileName}: duplicate: the same bytes were uploaded as "${upload.fileName}"${day}; activity ${activityPath ?? 'not named yet'}`
}
