import { PROFILE } from './profile-messages.ts'

/** A field of the profile: `value = raw / scale - offset`, in its unit. `isTime`: FIT seconds of a moment. */
export type ProfileField = Readonly<{
  name: string
  scale: number
  offset: number
  isList: boolean
  isTime: boolean
}>
export type ProfileMessage = Readonly<{ name: string; fields: ReadonlyMap<number, ProfileField> }>

/** The messages of the profile, by their numbers. */
export const MESSAGES: ReadonlyMap<number, ProfileMessage> = new Map(
  PROFILE.split(/^ {2}(?=\d)/m)
    .slice(1)
    .map((text) => {
      const [, number = '', name = '', fields = ''] = /^(\d+) (\w+): ?([\s\S]*)$/.exec(text) ?? []
      return [Number(number), { name, fields: parseFields(fields.trim()) }]
    }),
)

/** Reads the fields of a message, see PROFILE. */
function parseFields(list: string): ReadonlyMap<number, ProfileField> {
  const fields = new Map<number, ProfileField>()
  let number = 0
  for (const entry of list === '' ? [] : list.split(/,\s+/)) {
    const [, at, name = '', isList, isTime, scale = '1', offset = '0'] =
      /^(?:(\d+) )?(\w+)(\[\])?(@)?(?:\/([\d.]+))?(?:-(-?\d+))?$/.exec(entry) ?? []
    if (at !== undefined) number = Number(at)
    const kind = { isList: isList !== undefined, isTime: isTime !== undefined }
    fields.set(number++, { name, scale: Number(scale), offset: Number(offset), ...kind })
  }
  return fields
}
