import { defineFeature } from '../../frame/define-feature.ts'

export const changes = defineFeature({
  name: 'changes',
})
