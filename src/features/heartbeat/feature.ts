import { defineFeature } from '../../frame/define-feature.ts'

export const heartbeat = defineFeature({
  name: 'heartbeat',
})
