import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type TableOptions, tablePrinter, uniqueNames } from '../../../src/features/sql/sql-formats.ts'
import { cutTo, escapeControls, widthOf, wrapTo } from '../../../src/program/frame/output.ts'
import type { Field, Row } from '../../../src/program/query/statement.ts'

const text = (name: string): Field => ({ name, form: 'text' })
const number = (name: string): Field => ({ name, form: 'digits' })

function printed(options: TableOptions, fields: readonly Field[], ...batches: Row[][]): string[] {
  const printer = tablePrinter(options)
  const parts = [printer.begin(fields), ...batches.map(printer.rows), printer.end('SELECT 1')]
  return parts.join('').split('\n').slice(0, -1)
}

describe('a printed table', () => {
  it('aligns wide, combining and emoji characters by their terminal width', () => {
    const names = ['漢字', 'e\u0301te\u0301', '👩‍🚒 5', '한글', '\u1112\u1161\u11ab', 'ab']
    expect(names.map(widthOf)).toEqual([4, 3, 4, 4, 2, 2])
    const lines = printed(
      {},
      [text('名前'), number('n')],
      names.map((name, index) => [name, String(index)]),
    )
    expect(lines).toEqual([
      '名前  n',
      '────  ─',
      '漢字  0',
      'e\u0301te\u0301   1',
      '👩‍🚒 5  2',
      '한글  3',
      '\u1112\u1161\u11ab    4',
      'ab    5',
      '(6 rows)',
    ])
  })

  it('has one value per line on a narrow terminal, and is not cut elsewhere', () => {
    const fields = [text('name'), text('why')]
    const rows: Row[] = [
      ['a', `${'long '.repeat(10)}\nend`],
      ['b', null],
    ]
    expect(printed({ columns: 30 }, fields, rows)).toEqual([
      '─[ row 1 ]────────────────────',
      'name  a',
      'why   long long long long long',
      '       long long long long lon',
      '      g ',
      '      end',
      '─[ row 2 ]────────────────────',
      'name  b',
      'why',
      '(2 rows)',
    ])
    expect(printed({}, fields, rows)[2]).toBe(`a     ${'long '.repeat(10)}⏎end`)
    expect(printed({ expanded: true }, fields, rows)[2]).toBe(`why   ${'long '.repeat(10)}`)
  })

  it('is never wider than the terminal, and keeps its columns after a late long value', () => {
    const fields = [text('name'), number('n')]
    const first: Row[] = Array.from({ length: 1_000 }, () => ['x', '10000'])
    const late: Row[] = [
      ['漢'.repeat(50), '1'],
      ['y', '2'],
    ]
    for (const options of [{ columns: 40 }, { columns: 40, expanded: false }]) {
      const lines = printed(options, fields, first, late)
      expect(lines.every((line) => widthOf(line) <= 40)).toBe(true)
      expect(lines.slice(-3)).toEqual(['漢…       1', 'y         2', '(1002 rows)'])
    }
    expect(printed({ columns: 40, expanded: false }, fields, late)[2]).toBe(`${'漢'.repeat(18)}…  1`)
    const longer = ['longer', 'longest of all', 'x'].map((name) => [name, '7'])
    const lines = printed({}, fields, first, longer)
    expect(lines.slice(-4)).toEqual(['longer    7', 'longest of all  7', 'x         7', '(1003 rows)'])
  })
})

describe('a cell of a printed table', () => {
  it('contains no control characters', () => {
    expect(escapeControls('\u001b]0;x\u0007\r\n\u009b\u007f\ta')).toBe(
      '\\x1B]0;x\\x07\\r\n\\u009B\\x7F      a',
    )
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (any) => {
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there
        expect(escapeControls(any)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
      }),
    )
  })

  it('is wrapped and cut between characters, and wrapping loses nothing', () => {
    const any = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: fc.constantFrom('漢', '𠀀', 'e\u0301', '👩‍🚒', 'a') }),
    )
    fc.assert(
      fc.property(any, fc.integer({ min: 2, max: 12 }), (line, limit) => {
        expect(wrapTo(line, limit).join('')).toBe(line)
        expect(widthOf(cutTo(line, limit))).toBeLessThanOrEqual(limit)
      }),
    )
  })
})

describe('JSON member names', () => {
  it('are made unique, and a unique name stays unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'a_2', 'a_2_2', 'a_3', 'b', '')), (names) => {
        const unique = uniqueNames(names)
        expect(new Set(unique).size).toBe(names.length)
        for (const [index, name] of names.entries()) {
          if (names.indexOf(name) === index) expect(unique[index]).toBe(name)
        }
      }),
    )
  })
})
