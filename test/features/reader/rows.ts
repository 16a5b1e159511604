import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  asks: [['reader', 'analyst_of_nothing']],
  connects: [['db-url'], ['db-url', '--with-password'], ['db-hold']],
  ofAll: ['reader'],
  commands: {
    'musette db-url': [
      'test/features/reader/reader.test.ts',
      'makes a login of the embedded Postgres that enters no other database',
    ],
    'musette reader': { why: 'But for assistants, its sentences are for the administrator of a server.' },
    'tail ${': [
      'test/features/reader/reader.test.ts',
      'makes a login of the embedded Postgres that enters no other database',
    ],
  },
}
