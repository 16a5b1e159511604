import { type Definitions, makeSetval } from '../database/definitions.ts'
import { BEGIN_LINE } from '../database/load-tables.ts'
import { quoteColumns } from '../database/tables.ts'
import type { Manifest } from './manifest.ts'

/** The script, which needs a shell, sha256sum or shasum, gunzip and psql. */
export const SCRIPT = `#!/bin/sh
# Loads this backup of musette into an empty database of any Postgres from 14 on, without musette, all of it or nothing:
#   mkdir backup && tar -xf FILE -C backup && sh backup/restore.sh postgres://user@host:5432/database
# It makes the tables with their rows, keys, indexes and comments. The views and functions of musette come with: musette restore FILE
set -eu
if [ $# -ne 1 ]; then
  echo "usage: sh restore.sh postgres://user@host:5432/database" >&2
  exit 2
fi
cd "$(dirname "$0")"
if command -v sha256sum > /dev/null; then sha256sum -c SHA256SUMS > /dev/null; else shasum -a 256 -c SHA256SUMS > /dev/null; fi
exec psql "$1" --no-psqlrc --quiet --single-transaction --set ON_ERROR_STOP=1 --file restore.sql > /dev/null
`

/** Makes the statements for psql, in the folder into which the archive was unpacked. Pure. */
export function makePlainSql({ tables, sequences }: Manifest, { before, after }: Definitions): string {
  const loads = tables.map(
    (table) =>
      `\\copy ${quoteColumns(table)} from program 'cat ${table.name}/*.copy.gz | gunzip' with (format binary)`,
  )
  const numbers = sequences.map(({ name, last_value, is_called }) => makeSetval(name, last_value, is_called))
  return `${[...before, ...loads, ...numbers, `${BEGIN_LINE};`, ...after].join('\n')}\n`
}
