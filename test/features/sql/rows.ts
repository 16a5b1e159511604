import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  asks: [
    ['sql', 'select count(*) from training.activities'],
    ['sql', '--write', 'delete from training.drift'],
  ],
  reads: [['sql', 'select 1']],
  prints: () => [
    { line: ['sql', 'select * from training.samples'] },
    { line: ['sql', '--csv', 'select * from training.samples'] },
    { line: ['sql', '--json', 'select 1 as one'] },
  ],
  commands: {
    'musette sql': [
      'test/program/doctor/database.test.ts',
      'is found by a write, and the named command repairs it',
    ],
  },
  plain: [
    "program/doctor/check-database.ts: ['public', ...plain].join(', ')",
    'program/doctor/check-database.ts: statement',
  ],
}
