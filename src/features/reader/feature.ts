import { defineFeature } from '../../program/frame/define-feature.ts'
import { dbHoldVerb, dbUrlVerb, readerVerb } from './verbs.ts'

export const reader = defineFeature({
  name: 'reader',
  verbs: { after: 'migrate', all: [dbUrlVerb, dbHoldVerb, readerVerb] },
  prepare: async (app) => (await import('./reader.ts')).renewReaders(app),
})
