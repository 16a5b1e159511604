import { defineFeature } from '../../frame/define-feature.ts'

export const mcp = defineFeature({
  name: 'mcp',
})
