import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foldName, isPlainName, makeFileStem } from '../../src/kit/folders/file-name.ts'

const WORST = ` (99).erg`
const wild = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom('.', ' ', '/', '\\', '\0', '\n', ':', '\u202e', '\ud800', 'é', '🚴', 'a'),
    maxLength: 200,
  }),
  fc.constantFrom('CON', 'nul.txt', 'com1', 'LPT¹', 'aux .erg', 'con', '..', '.', '', '~', '-rf'),
)

describe('file names', () => {
  it.each([
    ['Normal.gpx', 'NORMAL.GPX'],
    ['über', 'U\u0308BER'],
    ['Straße', 'STRASSE'],
    ['STRA\u1e9eE', 'strasse'],
    ['ςοφος', 'ΣΟΦΟΣ'],
    ['\u212a2', 'k2'],
    ['\u017fprint', 'Sprint'],
    ['ride\u200b', 'ride'],
  ])('names that some disk treats as equal have the same key: %j and %j', (one, other) =>
    expect(foldName(one)).toBe(foldName(other)),
  )

  it.each([
    ['Normal', 'Normal 2'],
    ['a', 'ä'],
    ['🚴', '🚵'],
  ])('names that every disk tells apart have different keys: %j and %j', (one, other) =>
    expect(foldName(one)).not.toBe(foldName(other)),
  )
})

describe('a file name', () => {
  it('a text of others becomes a short, visible name that is valid on every file system', () => {
    fc.assert(
      fc.property(wild, wild, (name, fallback) => {
        const stem = makeFileStem(name, fallback)
        expect(stem).not.toBe('')
        expect(isPlainName(stem + WORST)).toBe(true)
        expect(Buffer.byteLength(stem + WORST)).toBeLessThanOrEqual(100)
        expect(stem).not.toMatch(/[/\\:*?"<>|\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u)
        expect(stem).not.toMatch(/^[.\s]|[.\s]$/)
        expect(stem.split('.')[0]?.trim()).not.toMatch(/^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])$/i)
      }),
      { numRuns: 1_000 },
    )
  })

  it.each([
    ['Threshold 3×10', 'Threshold 3×10'],
    ['30/15 "hard" & short <3', '30-15 -hard- & short -3'],
    ['con', '_con'],
    ['COM1.fit', '_COM1.fit'],
    ['../../../tmp/x', '-..-..-tmp-x'],
    ['C:\\x', 'C--x'],
    [' .. . ', 'fallback'],
    ['.hidden', 'hidden'],
    ['ends. ', 'ends'],
    ['\u202egpj.exe\u2066', 'gpj.exe'],
    ['a\0\u0007\nb\tc', 'a b c'],
    ['x'.repeat(300), 'x'.repeat(90)],
    ['ü'.repeat(300), 'ü'.repeat(45)],
    [null, 'fallback'],
  ])('a workout named %j gets the file name %j', (name, stem) => {
    expect(makeFileStem(name, 'fallback')).toBe(stem)
  })

  it.each(['', '.', '..', '../x', 'a/b', 'a\\b', '.hidden', 'a\0', 'x'.repeat(256), '/etc/passwd'])(
    'of a manifest is not %j',
    (name) => expect(isPlainName(name)).toBe(false),
  )
})
