import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  asks: [['changes', '--follow']],
  reads: [['changes']],
  ofAll: ['changes'],
  refuses: [['changes']],
  prints: () => [{ line: ['changes', '--json'] }],
}
