import { defineFeature } from '../../frame/define-feature.ts'

export const sql = defineFeature({
  name: 'sql',
})
