import { defineFeature } from '../../frame/define-feature.ts'

export const dashboard = defineFeature({
  name: 'dashboard',
  settingsOf: { start: ['MUSETTE_MAP_TILES'] },
})
