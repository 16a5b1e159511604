import { expect, it } from 'vitest'
import { attachmentOf } from '../../../src/program/frame/downloads.ts'
import { readTable } from '../../kit/table.ts'

it.each(
  readTable(`
ride.csv | ride.csv | ride.csv
Anna's ride.csv | Anna_s ride.csv | Anna%27s%20ride.csv
(1)*!.csv | _1___.csv | %281%29%2A!.csv
"é".csv | ___.csv | %22%C3%A9%22.csv
`),
)('a download named %s has that name in plain letters and by RFC 8187', (name = '', plain, escaped) => {
  expect(attachmentOf(name)).toBe(`attachment; filename="${plain}"; filename*=UTF-8''${escaped}`)
})
