import type { Logger } from 'pino'
import { checkSchema } from '../../core/store/migration/schema-version.ts'
import { openStore, type Store } from '../../core/store/store.ts'
import { hasEmbeddedPostgres, openEmbeddedPostgres } from '../../embedded/embedded.ts'
import { describeRecovery } from '../../embedded/not-ready.ts'
import { FEATURES } from '../../features/index.ts'
import { errorCode } from '../../kit/errors.ts'
import { makeReleaseStack, type ReleaseStack } from '../../kit/release-stack.ts'
import { joinSignals, SECOND } from '../../kit/time.ts'
import type { Settings } from '../config/config.ts'
import { collectFindings } from '../frame/findings/collect-findings.ts'
import { type FoundMirror, makeFacts } from '../frame/findings/facts.ts'
import { type Finding, leftOut } from '../frame/findings/finding.ts'

/** The database as the checks find it; `mismatch` is the error if the schema has another version. */
type FoundDatabase =
  | { kind: 'none' }
  | { kind: 'away'; error: unknown }
  | { kind: 'there'; url: string; store: Store; mismatch: unknown }

/** The settings as they were read, with their problems and warnings. */
export type DoctorInput = Pick<Settings, 'config' | 'problems' | 'warnings'>

/** Everything that the checks use. The first check that needs the database opens it, and all checks share it. */
export type DoctorContext = DoctorInput &
  Readonly<{
    log: Logger
    database: () => Promise<FoundDatabase>
    mirror: () => Promise<FoundMirror>
  }>

/** The input of the checks of settings and tables. */
export type MirrorContext = Pick<DoctorContext, 'config' | 'mirror'>

/** How long the checks wait for the database, ms: recovery after a crash takes a while, and other problems are known earlier. */
const START_WITHIN_MS = 20 * SECOND

/** Makes the context of the checks; `close` closes the database if a check has opened it. */
export function openDoctorContext(
  deps: { log: Logger },
  input: DoctorInput,
): { context: DoctorContext; close(): Promise<void> } {
  const release = makeReleaseStack()
  let opening: Promise<FoundDatabase> | undefined
  const database = () => {
    opening ??= openFound(deps.log, input.config, release.defer).catch((error) => ({ kind: 'away', error }))
    return opening
  }
  return {
    context: {
      ...deps,
      ...input,
      database,
      async mirror() {
        const found = await database()
        if (found.kind === 'none') return { reason: 'there is no database yet', fresh: true }
        if (found.kind === 'away') return { reason: 'the database cannot be used', fresh: false }
        if (!found.mismatch) return found
        const fresh = errorCode(found.mismatch) === 'database_empty'
        return { reason: fresh ? 'the database is empty' : 'the database is not at this version', fresh }
      },
    },
    async close() {
      await opening
      await release.release()
    },
  }
}

type Defer = ReleaseStack['defer']

async function openFound(log: Logger, config: DoctorInput['config'], defer: Defer): Promise<FoundDatabase> {
  const url = config.databaseUrl ?? (await openEmbedded(log, config.dataDir, defer))
  if (url === undefined) return { kind: 'none' }
  const store = openStore({ log }, { connectionString: url, maxConnections: 4 })
  defer('store', () => store.close())
  const reached = await store.read(async () => undefined).catch((error: unknown) => ({ error }))
  if (reached) return { kind: 'away', ...reached }
  const mismatch = await store.read(checkSchema).catch((error: unknown) => error)
  return { kind: 'there', url, store, mismatch }
}

/** Joins the embedded Postgres or starts it for the checks; does not create or migrate it. */
async function openEmbedded(log: Logger, dataDir: string, defer: Defer): Promise<string | undefined> {
  if (!(await hasEmbeddedPostgres(dataDir))) return undefined
  const within = joinSignals([], START_WITHIN_MS)
  const { signal } = within
  const embedded = await openEmbeddedPostgres({ log, signal }, { dataDir }).catch(async (error: unknown) => {
    throw within.isOver() ? await describeRecovery({ dataDir, waitedMs: START_WITHIN_MS }) : error
  })
  within.clear()
  defer('embedded Postgres', () => embedded.close())
  return embedded.url
}

/** Runs the judges of a check and returns their findings. */
export async function findListed({ config, mirror }: MirrorContext, check: string): Promise<Finding[]> {
  const database = await mirror()
  if ('reason' in database) return [leftOut(database.reason)]
  return collectFindings(makeFacts({ config, store: database.store, features: FEATURES }, new Date()), {
    check,
  })
}
