import { errorCode, MusetteError } from '../kit/errors.ts'
import { damaged, newerBackup, notABackup } from './backup-errors.ts'
import {
  anyManifestSchema,
  CHECKSUMS,
  FORMAT,
  MANIFEST,
  type Manifest,
  makeChecksum,
  manifestSchema,
  partName,
} from './manifest.ts'
import { decompressParts } from './parts.ts'
import { type Entry, readEntries } from './tar.ts'

export type Archive = {
  manifest: Manifest
  /** the COPY data of a table, in pieces that may end anywhere; to be read in the order of the manifest */
  tableBytes(table: string): AsyncGenerator<Buffer>
  /** throws MusetteError `backup_damaged` unless all that was read is as it was written and the archive ends here */
  verify(): Promise<void>
}

/**
 * Opens an archive as writeBackup writes it; its bytes are read once, from the first to the last. Throws ConfigError
 * `not_a_backup` and `backup_newer`, MusetteError `backup_damaged` and `backup_cut_off`.
 */
export async function openArchive(source: AsyncIterable<Buffer>): Promise<Archive> {
  const entries = readEntries(source)
  let checksums = ''
  let ahead: Entry | undefined
  const advance = async () => {
    if (ahead) checksums += makeChecksum(ahead)
    ahead = (await entries.next()).value ?? undefined
  }
  try {
    await advance()
  } catch (error) {
    if (errorCode(error) === 'backup_damaged') throw notABackup()
    throw error
  }
  if (ahead?.name !== MANIFEST) throw notABackup()
  const manifest = parseManifest(ahead.bytes)
  await advance()

  async function* parts(table: string): AsyncGenerator<Buffer> {
    for (let part = 1; ahead?.name === partName(table, part); part++) {
      yield ahead.bytes
      await advance()
    }
  }
  return {
    manifest,
    async *tableBytes(table) {
      try {
        yield* decompressParts(parts(table))
      } catch (error) {
        if (error instanceof MusetteError || !(error instanceof Error && 'errno' in error)) throw error
        throw damaged(`a part of ${table}`, error)
      }
    },
    async verify() {
      if (ahead?.name !== CHECKSUMS) throw damaged(`${ahead?.name ?? 'its end'} comes too early`)
      if (ahead.bytes.toString('latin1') !== checksums) throw damaged('its checksums differ')
      if (!(await entries.next()).done) throw damaged('more follows after its end')
    },
  }
}

function parseManifest(bytes: Buffer): Manifest {
  let json: unknown
  try {
    json = JSON.parse(bytes.toString())
  } catch (error) {
    throw damaged(MANIFEST, error)
  }
  const parsed = manifestSchema.safeParse(json)
  if (parsed.success) return parsed.data
  const other = anyManifestSchema.safeParse(json)
  if (other.success && other.data.format > FORMAT) throw newerBackup(other.data.musette)
  throw damaged(MANIFEST, parsed.error)
}
