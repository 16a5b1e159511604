import { existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readTop } from '../container/dockerfile.ts'

const LINE = /^\| [^|]+ \| `(test\/[\w./-]+\.ts)`: ([^|]+) \|$/gm

it('every promise of docs/security.md names a test that there is', () => {
  const lines = [...readTop('docs/security.md').matchAll(LINE)]
  expect(lines.length).toBeGreaterThan(30)
  for (const [line, file = '', title = ''] of lines) {
    expect(existsSync(new URL(`../../${file}`, import.meta.url)), line).toBe(true)
    expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'), line).toContain(title.trim())
  }
})
