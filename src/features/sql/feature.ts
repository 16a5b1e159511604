import { defineFeature } from '../../program/frame/define-feature.ts'
import { sqlVerb } from './verbs.ts'

export const sql = defineFeature({
  name: 'sql',
  verbs: { after: 'config', all: [sqlVerb] },
})
