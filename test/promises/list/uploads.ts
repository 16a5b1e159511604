import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises under "Files reach the service once". */
export const UPLOADS: readonly Breaking[] = [
  {
    promise: 'A content is sent once, under any file names',
    in: 'src/store/uploads/uploads.ts',
    from: 'if (from) rules.push(inArray(uploads.state, [...from]))',
    to: 'if (from && rules.length === 0) rules.push(inArray(uploads.state, [...from]))',
  },
  {
    promise: '… by one of all processes with one database',
    in: 'src/upload/send-file.ts',
    from: "recordUploadState(tx, key, { ...sendingFrom(now), sentContentId: null }, { from: ['seen'], dueAt: now }),",
    to: 'recordUploadState(tx, key, { ...sendingFrom(now), sentContentId: null }, {}),',
  },
  {
    promise: '… at whatever step a process dies',
    in: 'src/upload/check-upload.ts',
    from: "state: 'unconfirmed' as const,",
    to: "state: 'seen' as const,",
  },
  {
    promise: '… when the answer is lost: the activity list is searched first',
    in: 'src/upload/check-upload.ts',
    from: "if (match.kind === 'found')",
    to: "if (match.kind === 'found' && upload.attempts > 9)",
  },
  {
    promise: '… while daemons are killed and Postgres and Redis fail',
    in: 'src/upload/check-upload.ts',
    from: "state: 'unconfirmed' as const,",
    to: "state: 'seen' as const,",
  },
  {
    promise: 'An unfinished file waits until it is a whole FIT activity',
    in: 'src/fit/read-fit.ts',
    from: "if (!settled || verdict.verdict !== 'unready') return read",
    to: "if (verdict.verdict !== 'unready') return read",
  },
  {
    promise: 'An accepted file goes to `done/`',
    in: 'src/upload/import-file.ts',
    from: "if (results.every(isUploaded)) return { action: 'done' }",
    to: "if (results.every(isUploaded)) return { action: 'wait' }",
  },
  {
    promise: '… a refused one to `failed/`, with the reason beside it',
    in: 'src/dropfolder/move-file.ts',
    from: '`${day} UTC\\n${text.trim()}\\n`',
    to: '`${day} UTC\\n`',
  },
  {
    promise: '… a refused one to `failed/`, with the reason beside it',
    in: 'src/upload/import-file.ts',
    from: "if (results.every(isUploaded)) return { action: 'done' }",
    to: "if (results.length > 0) return { action: 'done' }",
  },
  {
    promise: '… a duplicate too, with its activity',
    in: 'src/upload/import-file.ts',
    from: "if (upload.state !== 'accepted' && upload.state !== 'mirrored') return false",
    to: "if (upload.state === 'refused') return false",
  },
  {
    promise: '`training.waiting_files` names a waiting file with its reason',
    in: 'src/store/uploads/waiting-files.ts',
    from: 'reason: cleanText(each.reason),',
    to: "reason: cleanText(''),",
  },
  {
    promise: 'No file in the folder is overwritten or deleted',
    in: 'src/dropfolder/move-to-folder.ts',
    from: 'await link(path, target)',
    to: 'await rename(path, target)',
  },
  {
    promise: 'An uploaded file is followed until its samples are in SQL',
    in: 'src/upload/upload-outcome.ts',
    from: "{ ...looked, state: 'accepted', activityId, mirroredAt: null }",
    to: "{ ...looked, state: 'accepted', activityId: null, mirroredAt: null }",
  },
  {
    promise: '… or for 7 days when the service makes none',
    in: 'src/store/uploads/due-uploads.ts',
    from: "and a.detail_state = 'mirrored' and a.absent_since is null`",
    to: "and a.detail_state = 'mirrored' and a.sample_count > 0`",
  },
  {
    promise: 'The sums of a FIT file are in SQL, field by field, also of a cut file',
    in: 'src/store/uploads/kept-fit.ts',
    from: 'pages<object>(rows[part])',
    to: "pages<object>(part === 'laps' ? rows[part].slice(1) : rows[part])",
  },
  {
    promise: "… read as the makers' own library reads it",
    in: 'src/fit/fit-contents.ts',
    from: 'field.values.push(value)',
    to: 'field.values.push(Math.round(Number(value)))',
  },
  {
    promise: '… and `fit_files.problem` names what cannot be read',
    in: 'src/fit/fit-contents.ts',
    from: 'if (unreadable.size > 0)',
    to: 'if (unreadable.size > 99)',
  },
  {
    promise: 'Every record and other message of it is in SQL, value by value',
    in: 'src/upload/fit-record-rows.ts',
    from: "else columnOf('cadence')[row] = cadence + value",
    to: "else columnOf('cadence')[row] = cadence",
  },
  {
    promise: '… with the beats that a strap stored',
    in: 'src/fit/heart-beats.ts',
    from: 'merged[row] = Math.round(sum / count)',
    to: 'merged[row] = Math.floor(sum / count)',
  },
  {
    promise: '… also when the service takes another time of the file as its start',
    in: 'src/upload/match-activity.ts',
    from: 'near.length > 0 ? near : exact',
    to: 'near',
  },
  {
    promise: '… also without the bytes behind its end',
    in: 'src/upload/send-file.ts',
    from: 'const longer = before ? undefined : ',
    to: 'const longer = before ? undefined : undefined && ',
  },
  {
    promise: '… and no upload waits for it or fails by it',
    in: 'src/upload/keep-fit.ts',
    from: 'const fields = { file: fileName, contentId, reason: errorLine(error), err: error }',
    to: 'if (error) throw error; const fields = { file: fileName, contentId }',
  },
  {
    promise: 'Its bytes can be exported (unless `MUSETTE_KEEP_FIT=false`)',
    in: 'src/upload/keep-fit.ts',
    from: 'const body = keepsBytes ? await pack(bytes) : undefined',
    to: 'const body = keepsBytes ? await pack(bytes.subarray(1)) : undefined',
  },
]
