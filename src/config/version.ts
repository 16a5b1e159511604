import { readFileSync } from 'node:fs'

/** The version in package.json, which is two folders above both src/config and dist/config. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
).version
