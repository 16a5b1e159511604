import { defineFeature } from '../../frame/define-feature.ts'

export const webhooks = defineFeature({
  name: 'webhooks',
})
