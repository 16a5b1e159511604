import type { House } from '../daemon/house.ts'
import { parkUnreadableLogins } from '../daemon/unreadable-logins.ts'
import type { Context } from './context.ts'

/** Reads every login before it is told about; one that cannot be read needs a login, and a wrong key is said beside the answer. */
export async function noteUnreadableLogins(context: Context, house: House): Promise<void> {
  const wrongKey = await parkUnreadableLogins(house)
  if (wrongKey) context.note(`musette: ${wrongKey.message}`)
}
