import type { FastifyInstance } from 'fastify'
import { registerApi } from './api.ts'
import { registerAssets } from './assets.ts'
import type { DashboardDeps } from './deps.ts'
import { registerPages } from './pages.ts'

export type { DashboardDeps } from './deps.ts'

/**
 * Adds the dashboard: pages at `/`, `/activities/<id>` and `/fitness`, what they show as JSON under `/api/`, and their
 * scripts and styles under `/assets/`. It only reads.
 */
export async function registerDashboard(server: FastifyInstance, deps: DashboardDeps): Promise<void> {
  await registerAssets(server)
  registerPages(server, deps)
  await registerApi(server, deps)
}
