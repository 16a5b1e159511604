import { expect, it } from 'vitest'
import { readTop } from '../container/dockerfile.ts'
import { openForAll } from '../kit/open-for.ts'
import { openTestDatabase, queryOnce } from '../kit/postgres.ts'
import { describeSchema } from './describe-schema.ts'

/** Numbers that count or name something have no unit, and their comment begins by saying so. */
const COUNTED =
  /^(Derived: )?(Number of|How often|How many|Times|Fetches|Looks|Entries|Items|Longest list|Place|Position|Key of|Serial number|Version of|(Account|Activity|Route)\b.*\bsee\b|The activity\b|Calendar year|The Postgres cluster|The timeline)/i
const UNIT =
  /((?<!')\b(W|s|ms|m|mm|km|kg|g|J|kJ|kcal|1\/min|m\/h|degrees|V|bytes|seconds|days|years)\b|°C|%|in units|unit not told by the service|\bno unit\b|a whole number of the service)/

const database = openForAll(() => openTestDatabase())

/** Lists numeric columns of training whose comment leaves open what a value of 1 means. */
async function listWithoutUnit(url: string): Promise<string[]> {
  const columns = await queryOnce(
    url,
    `select format('%s.%s: %s', c.relname, a.attname, col_description(c.oid, a.attnum)) as column,
            coalesce(col_description(c.oid, a.attnum), '') as comment
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     join pg_type t on t.oid = a.atttypid
     left join pg_type e on e.oid = t.typelem
     where c.relnamespace = 'training'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
       and 'N' in (t.typcategory, e.typcategory)
     order by 1`,
  )
  return columns
    .filter(({ comment }) => !COUNTED.test(String(comment)) && !UNIT.test(String(comment)))
    .map(({ column }) => String(column))
}

it('docs/schema.md equals the comments of the database, in which every number has a unit, or a note that the service does not document it', async () => {
  const described = await describeSchema(database.url)
  expect(readTop('docs/schema.md'), 'docs/schema.md is out of date; run: npm run docs').toBe(described)
  expect(await listWithoutUnit(database.url)).toEqual([])
})
