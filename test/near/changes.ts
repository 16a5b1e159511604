import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A file in one of its two states, with the lines that the other state does not have; the first line is 1. */
export type Changed = { path: string; text: string; lines: number[] }

/** Reads what differs between a commit and the checkout, files that git does not know yet included. */
export function readChanges(root: string, base: string): Changed[] {
  const git = (...args: string[]) => {
    const { stdout, stderr, status } = spawnSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 30,
    })
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const now = (path: string) => readFileSync(join(root, path), 'utf8')
  const added = git('ls-files', '--others', '--exclude-standard').split('\n').filter(Boolean)
  const diff = git('diff', '--unified=0', '--find-renames', '--no-color', '--no-ext-diff', base)
  return [
    ...added.map((path) => ({
      path,
      text: now(path),
      lines: now(path)
        .split('\n')
        .map((_line, index) => index + 1),
    })),
    ...parseDiff(diff).map(({ side, path, lines }) => ({
      path,
      lines,
      text: side === 'new' ? now(path) : git('show', `${base}:./${path}`),
    })),
  ]
}

/** Lists the lines of each side of a diff without context. Pure. */
function parseDiff(diff: string): Array<{ side: 'old' | 'new'; path: string; lines: number[] }> {
  return diff.split(/^diff --git .*\n/m).flatMap((file) =>
    (['old', 'new'] as const).flatMap((side) => {
      const path = (side === 'old' ? /^--- a\/(.+)$/m : /^\+\+\+ b\/(.+)$/m).exec(file)?.[1]
      const hunks = file.matchAll(/^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/gm)
      const lines = [...hunks].flatMap(([, oldStart, oldCount = '1', newStart, newCount = '1']) => {
        const [start, count] = side === 'old' ? [oldStart, oldCount] : [newStart, newCount]
        return Array.from({ length: Number(count) }, (_line, index) => Number(start) + index)
      })
      return path && lines.length > 0 ? [{ side, path, lines }] : []
    }),
  )
}
