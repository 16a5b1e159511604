import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  others: ['demo'],
  commands: {
    'npx musette': {
      why: 'Only the demo of a clone prints it, and that demo takes 15 s; test/package/package.test.ts types the command of an installed musette.',
    },
  },
}
