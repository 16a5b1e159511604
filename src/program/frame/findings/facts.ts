import { findAccountHealth, findAccountStatuses } from '../../../core/store/account-status.ts'
import { findIdentity, findServerRisks } from '../../../core/store/database-facts.ts'
import { findUncompared } from '../../../core/store/runs.ts'
import type { Store, Tx } from '../../../core/store/store.ts'
import { findWaitingFiles } from '../../../core/store/uploads/waiting-files.ts'
import { type DatabaseIdentity, type ForeignFolder, readForeign } from '../../../kit/folders/folder-owner.ts'
import type { App } from '../../app/app.ts'
import { fitCommand } from '../../app/remedy.ts'
import type { Config } from '../../config/config.ts'
import type { Finding, Rule } from './finding.ts'

/** Findings that are judged together: their rules and their judge; `check` is the check of the doctor that shows them. */
export type Source = Readonly<{
  check: string
  rules: Readonly<Record<string, Rule>>
  judge: (facts: Facts) => Promise<readonly Finding[]>
}>

/** A feature's state, for doctor, status, pages, heartbeat and messages. */
export type FeatureState = Source &
  Readonly<{
    /** the variables that the check uses; the check is left out if one of them is wrong */
    variables: readonly string[]
    /** runs the doctor's check, if a probe finds more than the judge */
    diagnose?: (context: CheckContext) => Promise<readonly Finding[]>
    /** the feature's member of the status; `problem` is the problem that its check found */
    status?: Readonly<{
      name: string
      find: (facts: Facts, problem: Finding | undefined) => Promise<unknown>
    }>
    /** the folder that the feature writes to */
    folder?: SettingsFolder
    /** finds the feature's last database copy that still exists; null if the settings disable copies */
    findCopy?: (facts: Facts) => Promise<{ done_at: Date | null; bytes: number | null } | null>
  }>

/** The variables of the database, for checks that read the database. */
export const DATABASE_VARIABLES = ['DATABASE_URL', 'MUSETTE_DATA_DIR']

/** The database that a check reads, or the reason why it cannot be read; `fresh` is true before the first login. */
export type FoundMirror = { store: Store; url: string } | { reason: string; fresh: boolean }

/** What a feature's check uses; `listed` returns the findings of the feature's judge. */
export type CheckContext = Readonly<{
  config: Config
  mirror: () => Promise<FoundMirror>
  listed: () => Promise<readonly Finding[]>
}>

/** The parts of an app that facts are read from, and the features that add facts. */
export type FactsApp = Pick<App, 'config' | 'store'> & {
  features: ReadonlyArray<Readonly<{ state?: () => Promise<FeatureState> }>>
}

/** Loads the states of the features, in the order of their list. */
export async function loadStates(features: FactsApp['features']): Promise<FeatureState[]> {
  const states = await Promise.all(features.map(({ state }) => state?.()))
  return states.filter((state) => state !== undefined)
}

/** The state of the database and the folders at one moment. Each part is read once, on first use. */
export type Facts = ReturnType<typeof partsOf> & {
  /** calls a feature's function once and keeps its result */
  once<T>(find: (facts: Facts) => Promise<T>): Promise<T>
}

/**
 * Makes the facts of the moment `now`: of all accounts, of one account, or of accounts whose login may have a problem. `read` runs a query
 * that only one judge needs.
 */
export function makeFacts(app: FactsApp, now: Date, choice?: number | 'doubtful'): Facts {
  const found = new Map<unknown, Promise<unknown>>()
  const facts: Facts = {
    ...partsOf(app, now, choice),
    once<T>(find: (facts: Facts) => Promise<T>) {
      const known = found.get(find) ?? find(facts)
      found.set(find, known)
      return known as Promise<T>
    },
  }
  return facts
}

function partsOf({ config, store, features }: FactsApp, now: Date, choice?: number | 'doubtful') {
  const accountId = typeof choice === 'number' ? choice : undefined
  const part = <T>(find: (tx: Tx) => Promise<T>) => once(() => store.read(find))
  const identity = part(findIdentity)
  const states = once(() => loadStates(features))
  return {
    ...{ config, now, accountId, identity, states, read: store.read },
    risks: part(findServerRisks),
    health: part((tx) => findAccountHealth(tx, choice)),
    statuses: part((tx) => findAccountStatuses(tx, accountId)),
    uncompared: part((tx) => findUncompared(tx, now, accountId)),
    waiting: part(findWaitingFiles),
    shared: once(async () => {
      const folders = (await states()).flatMap(({ folder }) => folder ?? [])
      return readSharedFolders(config, folders, await identity())
    }),
  }
}

/** The number of poll intervals after which a poll is no longer fresh; a poll may be late because it waits for its turn at the service. */
const FRESH_INTERVALS = 3

/** Returns the age of the last successful poll at which an account counts as late, ms. */
export function freshMs(config: Pick<Config, 'mirror'>): number {
  return FRESH_INTERVALS * config.mirror.pollEveryMs
}

function once<T>(find: () => Promise<T>): () => Promise<T> {
  let found: Promise<T> | undefined
  return () => {
    found ??= find()
    return found
  }
}

type SettingsFolder = Readonly<{
  variable: string
  dirOf: (config: Config) => string | undefined
  /** finds what another database has in the folder */
  readForeign: (dir: string, database: DatabaseIdentity) => Promise<ForeignFolder | undefined>
  /** the rule for files of another database in a folder that both may use; without a rule, this database does not use the folder */
  rule?: Rule
}>

const DROP_FOLDER: SettingsFolder = {
  variable: 'MUSETTE_DROP_DIR',
  dirOf: ({ drop }) => drop.dir,
  readForeign,
}

/** Reads which folders of the settings other databases use, as far as this machine can see. Changes nothing. Never throws. */
async function readSharedFolders(
  config: Config,
  folders: readonly SettingsFolder[],
  database: DatabaseIdentity,
) {
  const shared = [DROP_FOLDER, ...folders].map(async ({ variable, dirOf, readForeign, rule }) => {
    const dir = dirOf(config)
    // An unreadable folder has its own check.
    const foreign = dir === undefined ? undefined : await readForeign(dir, database).catch(() => undefined)
    if (dir === undefined || !foreign) return []
    return { setting: variable, dir, rule, ...foreign, run: fitCommand(foreign.run, config) }
  })
  return (await Promise.all(shared)).flat()
}
