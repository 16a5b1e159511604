import { ConfigError, errorCode } from '../../../kit/errors.ts'
import { parseIfJson } from '../../../kit/json.ts'
import { damaged, newerBackup } from './backup-errors.ts'
import {
  anyManifestSchema,
  CHECKSUMS,
  FORMAT,
  MANIFEST,
  type Manifest,
  makeChecksum,
  manifestSchema,
  PLAIN_SCRIPT,
  PLAIN_SQL,
  partName,
} from './manifest.ts'
import { decompressParts } from './parts.ts'
import { type Entry, readEntries } from './tar.ts'

export type Archive = Awaited<ReturnType<typeof openArchive>>

/**
 * Opens an archive that writeBackup wrote; reads its bytes once, from first to last. Throws ConfigError `not_a_backup` and `backup_newer`,
 * MusetteError `backup_damaged` and `backup_cut_off`.
 */
export async function openArchive(source: AsyncIterable<Buffer>) {
  const entries = readEntries(source)
  let checksums = ''
  let ahead: Entry | undefined
  const advance = async () => {
    ahead = (await entries.next()).value ?? undefined
    if (ahead && ahead.name !== CHECKSUMS) checksums += makeChecksum(ahead)
  }
  try {
    await advance()
  } catch (error) {
    if (errorCode(error) === 'backup_damaged') throw notABackup()
    throw error
  }
  if (ahead?.name !== MANIFEST) throw notABackup()
  const manifest = await readManifest(ahead, entries)
  await advance()
  // Skip the files for a restore without musette; archives of earlier versions do not have them.
  for (const name of [PLAIN_SQL, PLAIN_SCRIPT]) if (ahead?.name === name) await advance()

  async function* parts(table: string): AsyncGenerator<Buffer> {
    let part = 1
    for (; ahead?.name === partName(table, part); part++) {
      yield ahead.bytes
      await advance()
    }
    // Every table has at least one part, even a table without rows.
    if (part === 1) throw damaged(`${ahead?.name ?? 'its end'} comes before ${partName(table, part)}`)
  }
  /** Throws MusetteError `backup_damaged` unless all checksums match and the archive ends here. */
  const verify = async () => {
    if (ahead?.name !== CHECKSUMS) throw damaged(`${ahead?.name ?? 'its end'} comes too early`)
    if (ahead.bytes.toString('latin1') !== checksums) throw damaged('its checksums differ')
    if (!(await entries.next()).done) throw damaged('more follows after its end')
  }
  return {
    manifest,
    /** Reads a table's COPY data in chunks that may end anywhere. Must be called for each table in the order of the manifest. */
    tableBytes: (table: string) =>
      decompressParts(parts(table), (error) => damaged(`a part of ${table}`, error)),
    verify,
    /** Reads and verifies the rest of the archive. Call this after rows could not be loaded, to find out whether the archive is damaged. */
    async verifyRest(signal: AbortSignal) {
      while (ahead && ahead.name !== CHECKSUMS) {
        signal.throwIfAborted()
        await advance()
      }
      await verify()
    },
  }
}

function notABackup(): ConfigError {
  const message = 'this is not a backup of musette, or its beginning is damaged; nothing is restored'
  return new ConfigError('not_a_backup', message)
}

/**
 * Reads the manifest. A damaged manifest may look like a later layout: if the checksums at the archive's end do not match, the archive
 * counts as damaged, not newer.
 */
async function readManifest(entry: Entry, rest: AsyncIterable<Entry>): Promise<Manifest> {
  try {
    return parseManifest(entry.bytes)
  } catch (error) {
    if (errorCode(error) === 'backup_newer' && (await isContradicted(entry, rest))) throw damaged(MANIFEST)
    throw error
  }
}

/** Reports whether an entry contradicts the archive's checksums. An archive of a later layout may have no readable checksums. */
async function isContradicted(entry: Entry, rest: AsyncIterable<Entry>): Promise<boolean> {
  try {
    for await (const { name, bytes } of rest)
      if (name === CHECKSUMS) return !bytes.includes(makeChecksum(entry))
  } catch (error) {
    if (!['backup_damaged', 'backup_cut_off'].includes(errorCode(error))) throw error
  }
  return false
}

function parseManifest(bytes: Buffer): Manifest {
  const json = parseIfJson(bytes.toString())
  const parsed = manifestSchema.safeParse(json)
  if (parsed.success) return parsed.data
  const other = anyManifestSchema.safeParse(json)
  if (other.success && other.data.format > FORMAT) throw newerBackup(other.data.musette)
  throw damaged(MANIFEST, parsed.error)
}
