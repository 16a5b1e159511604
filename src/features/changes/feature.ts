import { defineFeature } from '../../frame/define-feature.ts'
import { changesVerb } from './verbs.ts'

export const changes = defineFeature({
  name: 'changes',
  verbs: { after: 'config', all: [changesVerb] },
})
