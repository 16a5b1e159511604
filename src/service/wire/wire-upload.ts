import { z } from 'zod'
import type { Drift } from '../../store/drift.ts'
import { fitsIdentity, numberField, objectField, type Parsed, parseLenient, textField } from './lenient.ts'

const fileSchema = z.looseObject({
  name: textField,
  size: numberField,
  type: textField,
  url: textField,
  deleteType: textField,
  deleteUrl: textField,
})

const uploadSchema = z.looseObject({
  success: z.unknown().optional(),
  json: objectField({ files: z.array(fileSchema.nullish()).nullish() }),
})

/** The answer to an accepted upload (service document, "Upload response"). */
export type WireUpload = z.infer<typeof uploadSchema> & { drift: Drift[] }

/** Parses the answer of endpoint 10. */
export function parseUpload(wire: Record<string, unknown>): Parsed<WireUpload> {
  const parsed = parseLenient(uploadSchema, wire)
  if (!parsed.ok) return parsed
  return { ...parsed, value: { ...parsed.value, drift: parsed.drift } }
}

/** Reads the new activity's path: the last part of `json.files[0].url`. Undefined when there is none, or it is too long. */
export function parseUploadedPath(upload: WireUpload): string | undefined {
  const url = upload.json?.files?.[0]?.url
  if (!url) return undefined
  const last = url
    .replace(/[?#].*$/s, '')
    .split('/')
    .findLast((part) => part !== '')
  if (last === undefined) return undefined
  const path = decode(last)
  return fitsIdentity(path) ? path : undefined
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
