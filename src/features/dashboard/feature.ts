import { defineFeature } from '../../frame/define-feature.ts'

export const dashboard = defineFeature({
  name: 'dashboard',
  settingsOf: { start: ['MUSETTE_MAP_TILES'] },
  routes: async (server, web) => (await import('./pages/register-pages.ts')).registerPages(server, web),
})
