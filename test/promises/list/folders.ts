import type { Breaking } from '../promises.ts'

/** Breaks what docs/guarantees.md promises of folders that several databases share by mistake. */
export const FOLDERS: readonly Breaking[] = [
  {
    promise:
      'Two databases that share a folder harm nothing: one gets it, also at the same moment, and the other names the file to remove',
    in: 'src/kit/folders/folder-owner.ts',
    from: "if (code !== 'EEXIST') throw error",
    to: 'return undefined',
  },
  {
    promise: '… a foreign drop folder is left alone, so no file is sent twice',
    in: 'src/core/dropfolder/drop-folder.ts',
    from: 'if (!owner || !(await isClaimed(owner.database))) return 0',
    to: 'if (!owner) return 0',
  },
  {
    promise: '… so is its workout folder',
    in: 'src/features/workoutfiles/workout-folder.ts',
    from: 'await claimFolderOrThrow(input.owner.dir, input.owner.database)',
    to: 'await Promise.resolve()',
  },
  {
    promise: '… and its export folder',
    in: 'src/features/export/export-folder.ts',
    from: 'if (identity === database.identity) continue',
    to: 'if (identity) continue',
  },
  {
    promise: '… and its backups, which are not removed, counted or verified',
    in: 'src/features/backup/backup-folder.ts',
    from: 'return COMPLETE.exec(name)?.[7] === markOf(line)',
    to: 'return COMPLETE.test(name)',
  },
  {
    promise: '… and its waiting tokens in a shared data directory',
    in: 'src/core/vault/seal.ts',
    from: 'return `tokens-${accountId}-${identity.slice(0, 8)}.spool`',
    to: 'return `tokens-${accountId}-${identity.slice(0, 0)}.spool`',
  },
  {
    promise: 'A restored database keeps its identity and gets another line, and the change feed says both',
    in: 'src/features/backup/database/load-tables.ts',
    from: 'earlier_lines = earlier_lines || line, line = gen_random_uuid()',
    to: 'earlier_lines = earlier_lines || line, line = line',
  },
  {
    promise: '… and writes its old export folder anew',
    in: 'src/features/export/export-all.ts',
    from: 'const anew = last !== undefined && last.database?.line !== line',
    to: 'const anew = last === undefined',
  },
  {
    promise:
      'A line of a settings file that sets nothing stops every command, which names its number, not its value',
    in: 'src/program/config/config.ts',
    from: 'of source?.faults ?? [])',
    to: 'of [] as string[])',
  },
  {
    promise:
      'A character that a URL cannot hold in a password is named; no part of the password is shown, also by `musette config`',
    in: 'src/program/config/checks.ts',
    from: 'if (hasRawLogin(text)) ',
    to: "if (text === '') ",
  },
  {
    promise: 'Of several hosts in `DATABASE_URL` each connection takes the first that answers and fits',
    in: 'src/kit/postgres-client.ts',
    from: 'if (rows[0]?.fits) ',
    to: 'if (rows[0]) ',
  },
  {
    promise: 'A lost key is made anew by nobody while logins wait for it, and its copy opens them again',
    in: 'src/core/vault/seal.ts',
    from: 'if (other === undefined && options.makeFirst)',
    to: 'if (options.makeFirst)',
  },
]
