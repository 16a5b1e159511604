import { defineFeature } from '../../program/frame/define-feature.ts'
import { demoVerb } from './verbs.ts'

export const demo = defineFeature({
  name: 'demo',
  verbs: { after: 'sandbox', all: [demoVerb] },
})
