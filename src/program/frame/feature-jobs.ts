import { type Catalog, type Handlers, makeCoreCatalog, nothing } from '../../core/jobs/catalog.ts'
import type { App } from '../app/app.ts'
import type { Config } from '../config/config.ts'
import type { Feature } from './define-feature.ts'
import type { FactsApp } from './findings/facts.ts'

type Features = readonly Pick<Feature, 'jobs'>[]

/** Loads the catalog of all jobs, of the core and of the features, with the intervals from the configuration. */
export async function loadCatalog(config: Config, features: Features): Promise<Catalog> {
  const ofFeatures = await Promise.all(
    jobsOf(features).map(async ([name, { every, atStart, attempts }]) => [
      name,
      {
        payload: nothing,
        attempts,
        schedule: { everyMs: await every(config), per: 'daemon', atStart },
      },
    ]),
  )
  return { ...makeCoreCatalog(config), ...Object.fromEntries(ofFeatures) }
}

/** Returns the handlers of the features' jobs, for a daemon that began at `startedAt`. */
export function featureHandlers(app: App & FactsApp & { features: Features }, startedAt: Date): Handlers {
  return Object.fromEntries(
    jobsOf(app.features).map(([name, { run }]) => [
      name,
      (_payload, context) => run(app, { ...context, startedAt }),
    ]),
  )
}

const jobsOf = (features: Features) => features.flatMap(({ jobs = {} }) => Object.entries(jobs))
