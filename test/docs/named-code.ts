import { existsSync, readFileSync } from 'node:fs'

/** Checks the files and functions in a text; a function belongs to the file that is named last before it in its item. */
export function findWrongNames(text: string): { files: number; wrong: string[] } {
  const wrong: string[] = []
  let files = 0
  for (const item of text.split(/\n(?=\s*(?:\d+\.|-|\||\n))/)) {
    let file: string | undefined
    for (const [, path, name] of item.matchAll(/`(src\/[\w./-]+)`|`(\w+)\(\)`/g)) {
      if (path !== undefined) {
        files += 1
        file = existsSync(path) ? path : undefined
        if (file === undefined) wrong.push(`${path} is not there`)
      } else if (name !== undefined) {
        if (file === undefined) wrong.push(`${name}() follows no file`)
        else if (!defines(file, name)) wrong.push(`${name}() is not in ${file}`)
      }
    }
  }
  return { files, wrong }
}

function defines(file: string, name: string): boolean {
  return new RegExp(`\\b(?:function\\*?|const) ${name}\\b`).test(readFileSync(file, 'utf8'))
}
