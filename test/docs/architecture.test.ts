import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ALLOWED, ROOMS } from '../architecture/rooms.ts'
import { readTop } from '../container/dockerfile.ts'

const page = readTop('ARCHITECTURE.md')

describe('ARCHITECTURE.md', () => {
  it('names files and functions that there are', () => {
    const { files, functions, wrong } = check(page)
    expect(wrong).toEqual([])
    expect(files).toBeGreaterThan(50)
    expect(functions).toBeGreaterThan(50)
  })

  it('would be caught naming one that is gone', () => {
    const planted = [
      '1. In `src/kit/gone.ts` nothing is left.',
      '2. `src/kit/time.ts` `sleep()` and `gone()`; `within()` too.',
      '3. `sleep()` of no file.',
    ].join('\n')
    expect(check(planted).wrong).toEqual([
      'src/kit/gone.ts is not there',
      'gone() is not in src/kit/time.ts',
      'sleep() follows no file',
    ])
  })

  it('has the table of the rooms that test/architecture enforces', () => {
    const [, section = ''] = /\n## Rooms\n([\s\S]*?)\n## /.exec(page) ?? []
    const rows = [...section.matchAll(/^\| `(\w+)` \| .+? \| ?(.*?) ?\|$/gm)]
    expect(rows.map(([, room]) => room)).toEqual(ROOMS)
    const below = ROOMS.slice(ROOMS.indexOf('app') + 1)
    for (const [, room, cell = ''] of rows) {
      const text = cell.replace(/^(.*)every room below(?: it| app)$/, `$1${below.join(', ')}`)
      const named = text.split(/, (?:and )?| and /).filter((each) => each !== '')
      expect(named.sort(), room).toEqual([...ALLOWED[room as keyof typeof ALLOWED]].sort())
    }
  })
})

/** Checks the files and functions in a text; a function belongs to the file that is named last before it in its item. */
function check(text: string): { files: number; functions: number; wrong: string[] } {
  const wrong: string[] = []
  let files = 0
  let functions = 0
  for (const item of text.split(/\n(?=\s*(?:\d+\.|-|\||\n))/)) {
    let file: string | undefined
    for (const [, path, name] of item.matchAll(/`(src\/[\w./-]+)`|`(\w+)\(\)`/g)) {
      if (path !== undefined) {
        files += 1
        file = existsSync(path) ? path : undefined
        if (file === undefined) wrong.push(`${path} is not there`)
      } else if (name !== undefined) {
        functions += 1
        if (file === undefined) wrong.push(`${name}() follows no file`)
        else if (!defines(file, name)) wrong.push(`${name}() is not in ${file}`)
      }
    }
  }
  return { files, functions, wrong }
}

function defines(file: string, name: string): boolean {
  return new RegExp(`\\b(?:function\\*?|const) ${name}\\b`).test(readFileSync(file, 'utf8'))
}
