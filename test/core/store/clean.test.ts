import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cleanJson, cleanText } from '../../../src/core/store/clean.ts'
import { openTestStore, rowsOf } from './open.ts'

test('cleaning removes NUL, replaces lone surrogates and keeps surrogate pairs', () => {
  expect(cleanText('a\0b\ud800c\udc00 😀')).toBe('ab\ufffdc\ufffd 😀')
  expect(cleanJson({ 'k\0': ['\ud800', Number.NaN, undefined, { x: undefined, y: null }] })).toEqual({
    k: ['\ufffd', null, null, { y: null }],
  })
})

test('a cleaned object keeps a member named __proto__', () => {
  expect(JSON.stringify(cleanJson(JSON.parse('{"__proto__":{"a":1}}')))).toBe('{"__proto__":{"a":1}}')
})

test('Postgres accepts any cleaned text and any cleaned JSON', async () => {
  const { store } = await openTestStore()
  const anyText = fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  })
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: 'small' },
      anyText,
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('json'), { maxLength: 4 }),
      fc.dictionary(anyText, tie('json'), { maxKeys: 4 }),
    ),
  }))
  await fc.assert(
    fc.asyncProperty(json, anyText, async (value, text) => {
      const clean = cleanText(text)
      const query = 'SELECT $1::jsonb AS value, $2::text AS text'
      const [row] = await rowsOf(store, query, [JSON.stringify(cleanJson(value)), clean])
      expect(row?.text).toBe(clean)
    }),
    { numRuns: 100 },
  )
})
