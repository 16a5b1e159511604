import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const SUDO = `#!/bin/sh
case $1 in
-u) user=$2; shift 2; exec runuser -u "$user" -- env "$@" ;;
*) exec env "$@" ;;
esac
`

/** Returns a PATH with a `sudo` for root, which may be missing here, and with `programs`: scripts by name. */
export function makePath(folder: string, programs: Readonly<Record<string, string>> = {}): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  for (const [name, text] of Object.entries({ sudo: SUDO, ...programs }))
    writeFileSync(join(bin, name), text, { mode: 0o755 })
  return `${bin}${delimiter}${process.env.PATH}`
}
