import { join } from 'node:path'
import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  asks: [
    ['export', '0f'],
    ['export', '--all', '--format', 'parquet', '--to', 'history'],
  ],
  ofAccount: [['export', 'nowhere']],
  prints: (path) => [{ line: ['export', path] }, { line: ['export', path, '--format', 'parquet'] }],
  commands: {
    'musette export': ['test/program/doctor/typed.test.ts', '%s answers what `%s` asks for'],
  },
  plain: ['features/export/feature.ts: format', 'features/export/export-folder.ts: into'],
  env: async (folder) => ({ MUSETTE_EXPORT_DIR: join(folder, "the rider's") }),
  runs: ['export'],
  situations: ({ folder, run, without }) => `
export_missing | ${without('export')} | nothing has been exported into | musette start
export_failed | ${run('export', '1 second', 'failed')} | failed (failed); the folder has the state of 1 min ago | musette export --all --format parquet --to '${folder}/the rider'\\''s'
export_late | ${without('export')}; ${run('export', '3 hours', 'done')} | exported 3 h ago | musette start`,
}
