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
      'the suggested command makes the login that a login of the rider may not make',
    ],
    'musette mcp': { why: 'It is the name of the connections of that verb, and nobody is told to type it.' },
  },
}
