import { defineFeature } from '../../program/frame/define-feature.ts'
import { changesVerb } from './verbs.ts'

export const changes = defineFeature({
  name: 'changes',
  verbs: { after: 'config', all: [changesVerb] },
})
