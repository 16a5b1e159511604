import type { Waiting } from './memory.ts'

/**
 * Describes the folders that hold files of nobody's account, with the command to type: a folder in the drop folder is an
 * account's, so one that was meant for a year waits for an account of that name. `.` is the drop folder itself.
 */
export function describeStrangers(
  folders: readonly string[],
  sinceOf: (folder: string) => number,
): Waiting[] {
  return folders.map((folder) => ({
    code: 'no_account',
    reason:
      folder === '.'
        ? 'files in the drop folder wait, because nobody is signed in; run: musette login'
        : `files in the folder ${folder} wait, because folders here are named after accounts and there is none of that name; move them one folder up, or run: musette login ${folder}`,
    relativePath: folder,
    account: null,
    sizeBytes: null,
    sinceMs: sinceOf(folder),
  }))
}
