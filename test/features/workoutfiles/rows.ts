import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  asks: [
    ['workout', 'list'],
    ['workout', 'export', 'lunch tempo', '--format', 'erg'],
  ],
  ofAccount: [
    ['workout', 'list'],
    ['workout', 'export', 'lunch tempo', '--format', 'erg'],
  ],
  silent: ['workout list', 'workout export'],
  commands: {
    'musette workout': ['test/program/doctor/typed.test.ts', '%s answers what `%s` asks for'],
  },
}
