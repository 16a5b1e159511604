import { defineFeature } from '../../frame/define-feature.ts'

export const backup = defineFeature({
  name: 'backup',
})
