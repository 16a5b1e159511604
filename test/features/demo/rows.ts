import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  others: ['demo'],
  commands: {
    'npx musette': {
      why: 'Only the demo of a clone says it, which runs for a quarter of a minute; the installed one says the same with musette, which test/package/package.test.ts types.',
    },
  },
}
