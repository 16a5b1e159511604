import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROGRAM_FOLDER } from '../kit/program-folder.ts'

/** The version in package.json. */
export const VERSION: string = JSON.parse(readFileSync(join(PROGRAM_FOLDER, 'package.json'), 'utf8')).version
