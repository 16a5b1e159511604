import { expect, it } from 'vitest'
import { attachmentOf } from '../../../src/program/frame/downloads.ts'
import { readTable } from '../../kit/table.ts'

it.each(
  readTable(`
ride | ride.csv | ride.csv
Anna's ride | Anna_s ride.csv | Anna%27s%20ride.csv
(1)*! | _1_-_.csv | %281%29-!.csv
"é" | -_-.csv | -%C3%A9-.csv
../../etc/x\u202e\ud800 | -..-etc-x.csv | -..-etc-x.csv
... | fallback.csv | fallback.csv
`),
)('a download named %s has that name in plain letters and by RFC 8187', (text = '', plain, escaped) => {
  const named = { name: JSON.parse(`"${text.replaceAll('"', '\\"')}"`), fallback: 'fallback', format: 'csv' }
  expect(attachmentOf(named)).toBe(`attachment; filename="${plain}"; filename*=UTF-8''${escaped}`)
})
