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
 * What a feature gives to the frame: one value in the `feature.ts` of its folder, listed in `features/index.ts`. Every start of the program
 * loads this value, so it holds only names and verbs, and imports its code when the code runs.
 */
export type Feature = WorkoutsFeature &
  CopyFeature &
  Readonly<{
    /** the name of the feature's folder */
    name: string
    /** the feature's verbs; the help lists these verbs after the core verb `after` */
    verbs?: { after: string; all: readonly Verb[] }
    /** the feature's settings that core verbs read, by verb */
    settingsOf?: Readonly<Record<string, readonly string[]>>
    /** the feature's settings; loaded only when the configuration is read, because the help does not need the checks of settings */
    settings?: () => Promise<SettingsGroup>
    /** the feature's state, for doctor, status, pages, heartbeat and messages */
    state?: () => Promise<FeatureState>
    /** the feature's gauges for Prometheus */
    gauges?: () => Promise<Gauges>
    /** updates what the feature keeps in the database, at each start of a daemon */
    prepare?: (app: App) => Promise<void>
    /** the feature's jobs by name; each has one schedule per daemon and no payload */
    jobs?: Readonly<Record<string, FeatureJob>>
    /** the address from which the feature's pages load pictures; the browser is allowed to load from its host */
    pictures?: (config: Config) => Promise<string | undefined>
    /**
     * the formats that the feature's routes offer for download. Pages link to `/activities/<id>/download?format=` for an activity, and to
     * `/workouts/<account>.<format>?path=` for a saved workout.
     */
    downloads?: Readonly<Partial<Record<'activity' | 'workout', readonly string[]>>>
    /** adds the feature's routes to the web server when the server opens */
    routes?: (server: FastifyInstance, web: WebParts) => Promise<void>
    /** opens what runs in each daemon with the role worker; returns undefined if the settings disable it */
    openInWorker?(daemon: WorkerDaemon): Promise<{ close(): Promise<void> } | undefined>
  }>

/** What a daemon gives to a feature that it opens. */
type WorkerDaemon = Readonly<{ app: App & FactsApp; jobs: Pick<Jobs, 'enqueue'>; startedAt: Date }>

type FeatureJob = Readonly<{
  /** attempts before the job counts as failed for good; see ATTEMPTS in core/jobs */
  attempts?: number
  /** whether the job also runs at each start of a daemon */
  atStart?: true
  /** returns the job's interval, ms, or undefined if the settings disable the job */
  every(config: Config): Promise<number | undefined>
  run(app: App & FactsApp, context: HandlerContext & { startedAt: Date }): Promise<HandlerResult>
}>

/** What the web server gives to a feature's routes. */
export type WebParts = Readonly<{
  app: FactsApp & Pick<App, 'log' | 'databaseUrl'>
  /** reads what a page shows; `app.store` is the owner's, for findings and for what a page writes */
  visitorStore: VisitorStore
  jobs: Pick<Jobs, 'counts' | 'paused' | 'queues'>
  features: readonly Feature[]
  /** the URL path above all pages, see MUSETTE_HTTP_PATH */
  root: string
  /** whether a token is required, so that a session can end */
  signOut: boolean
  /** whether this process watches the drop folder */
  isWatched: boolean
  /** registers an observer of this process's requests to the service */
  observeRequests: (observer: ServiceObserver) => void
  /** sets the response for an unknown address */
  setNoSuchPage: (send: (reply: FastifyReply) => FastifyReply) => void
}>

export function defineFeature(feature: Feature): Feature {
  return feature
}

export async function loadSettings(features: readonly Feature[]): Promise<SettingsGroup[]> {
  return Promise.all(features.flatMap(({ settings }) => settings?.() ?? []))
}
