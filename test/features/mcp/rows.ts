import type { FeatureRows } from '../../kit/feature-rows.ts'

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}

export const ROWS: FeatureRows = {
  others: ['mcp'],
  ofAll: ['mcp'],
  prints: () => [{ line: ['mcp'], input: `${JSON.stringify(INITIALIZE)}\n` }],
  commands: {
    'musette reader': [
      'test/features/mcp/remedy.test.ts',
      'the suggested command creates the login that the owner may not create',
    ],
    'musette mcp': {
      why: 'It is the application name of database connections; no message tells anybody to type it.',
    },
  },
}
