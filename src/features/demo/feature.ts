import { defineFeature } from '../../frame/define-feature.ts'

export const demo = defineFeature({
  name: 'demo',
})
