import { defineFeature } from '../../frame/define-feature.ts'

export const reader = defineFeature({
  name: 'reader',
})
