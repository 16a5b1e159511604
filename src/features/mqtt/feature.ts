import { defineFeature } from '../../frame/define-feature.ts'

export const mqtt = defineFeature({
  name: 'mqtt',
})
