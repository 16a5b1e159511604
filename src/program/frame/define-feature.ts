import type { FastifyInstance, FastifyReply } from 'fastify'
import type { HandlerContext, HandlerResult } from '../../core/jobs/catalog.ts'
import type { Jobs } from '../../core/jobs/jobs.ts'
import type { ServiceObserver } from '../../core/service/service.ts'
import type { App, WorkoutsFeature } from '../app/app.ts'
import type { CopyFeature } from '../app/open-database.ts'
import type { Config } from '../config/config.ts'
import type { SettingsGroup } from '../config/define-settings.ts'
import type { VisitorStore } from '../query/reading-store.ts'
import type { FactsApp, FeatureState } from './findings/facts.ts'
import type { Gauges } from './gauges.ts'
import type { Verb } from './verb.ts'

/**
 * What a feature hands the frame: one value, which stands in `feature.ts` of its folder and in the list of `features/index.ts`. Each start of
 * the program loads it, so that it holds names and verbs, and loads its code when that runs.
 */
export type Feature = WorkoutsFeature &
  CopyFeature &
  Readonly<{
    /** the name of its folder */
    name: string
    /** its verbs, and the verb of the core that the help prints before them */
    verbs?: { after: string; all: readonly Verb[] }
    /** those of its settings that a verb of the core reads, by that verb */
    settingsOf?: Readonly<Record<string, readonly string[]>>
    /** its settings; loaded when the configuration is read, because the help of the program needs no check */
    settings?: () => Promise<SettingsGroup>
    /** what it tells of its state, in doctor and status, on pages, by heartbeat and messages */
    state?: () => Promise<FeatureState>
    /** what Prometheus reads of it */
    gauges?: () => Promise<Gauges>
    /** brings what it keeps in the database up to date, at each start of a daemon */
    prepare?: (app: App) => Promise<void>
    /** its jobs by name; each has one schedule for the daemon, and no payload */
    jobs?: Readonly<Record<string, FeatureJob>>
    /** an address below which its pages fetch pictures, so that a browser may ask that host for them */
    pictures?: (config: Config) => Promise<string | undefined>
    /**
     * the formats that its routes answer with: of an activity at `/activities/<id>/download?format=`, of a saved workout at
     * `/workouts/<account>.<format>?path=`. Pages link to these.
     */
    downloads?: Readonly<Partial<Record<'activity' | 'workout', readonly string[]>>>
    /** adds its routes to the web server, when that opens */
    routes?: (server: FastifyInstance, web: WebParts) => Promise<void>
    /** opens what runs in each daemon with the role worker; undefined when the settings do not ask for it */
    openInWorker?(daemon: WorkerDaemon): Promise<{ close(): Promise<void> } | undefined>
  }>

/** What a feature gets of the daemon that opens it. */
type WorkerDaemon = Readonly<{ app: App & FactsApp; jobs: Pick<Jobs, 'enqueue'>; startedAt: Date }>

type FeatureJob = Readonly<{
  /** tries after which it is dead; see ATTEMPTS of the jobs room */
  attempts?: number
  /** whether it also runs at each start of a daemon */
  atStart?: true
  /** returns its interval, ms; undefined when the settings do not ask for it */
  every(config: Config): Promise<number | undefined>
  run(app: App & FactsApp, context: HandlerContext & { startedAt: Date }): Promise<HandlerResult>
}>

/** What the web server gives the routes of a feature. */
export type WebParts = Readonly<{
  app: FactsApp & Pick<App, 'log' | 'databaseUrl'>
  /** reads what a page shows; the store of `app` is the owner's, for findings and for what a page writes */
  visitorStore: VisitorStore
  jobs: Pick<Jobs, 'counts' | 'paused' | 'queues'>
  features: readonly Feature[]
  /** the path above all pages, see MUSETTE_HTTP_PATH */
  root: string
  /** whether a token is required, so that a session can end */
  signOut: boolean
  /** whether this process watches the drop folder */
  isWatched: boolean
  /** tells the observer of each request of this process to the service */
  observeRequests: (observer: ServiceObserver) => void
  /** sets what a browser gets at an unknown address */
  setNoSuchPage: (send: (reply: FastifyReply) => FastifyReply) => void
}>

export function defineFeature(feature: Feature): Feature {
  return feature
}

export async function loadSettings(features: readonly Feature[]): Promise<SettingsGroup[]> {
  return Promise.all(features.flatMap(({ settings }) => settings?.() ?? []))
}
