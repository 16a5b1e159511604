import { defineFeature } from '../../frame/define-feature.ts'

export const exporting = defineFeature({
  name: 'export',
})
