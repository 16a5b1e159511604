import { defineFeature } from '../../frame/define-feature.ts'

export const metrics = defineFeature({
  name: 'metrics',
})
