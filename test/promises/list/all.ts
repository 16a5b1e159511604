import type { Breaking } from '../promises.ts'
import { DATABASE } from './database.ts'
import { FOLDERS } from './folders.ts'
import { LOGINS } from './logins.ts'
import { MIRROR } from './mirror.ts'
import { ORDER } from './order.ts'
import { RIGHTS } from './rights.ts'
import { ROWS } from './rows.ts'
import { SECRETS } from './secrets.ts'
import { UPLOADS } from './uploads.ts'

/** How to break each promise; a promise of several parts has an entry for each part that can be broken by itself. */
export const BREAKINGS: readonly Breaking[] = [
  ...[MIRROR, ROWS, ORDER, UPLOADS, LOGINS, DATABASE, FOLDERS, SECRETS, RIGHTS].flat(),
]
