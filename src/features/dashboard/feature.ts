import { defineFeature } from '../../program/frame/define-feature.ts'

const settings = async () => (await import('./settings.ts')).dashboardSettings

export const dashboard = defineFeature({
  name: 'dashboard',
  settingsOf: { start: ['MUSETTE_MAP_TILES'] },
  settings,
  pictures: async (config) => (await settings()).of(config).mapTiles,
  routes: async (server, web) => (await import('./pages/register-pages.ts')).registerPages(server, web),
})
