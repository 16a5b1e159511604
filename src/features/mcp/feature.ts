import { defineFeature } from '../../program/frame/define-feature.ts'
import { ASKS, DATABASE } from '../../program/frame/help-of-verbs.ts'
import { defineVerb, option } from '../../program/frame/verb.ts'

const mcpVerb = defineVerb({
  name: 'mcp',
  description: 'answer an assistant on standard input and output (Model Context Protocol); it only reads',
  options: { account: option('--account <name>', 'the database shows this account alone') },
  help: {
    notes: [
      'An assistant starts this command itself; docs/assistants.md has the lines to paste. It ends when its input ends. A daemon answers the same at /mcp of its web surface.',
    ],
    settings: [...DATABASE, 'MUSETTE_READER_URL'],
    exits: ASKS,
    examples: ['musette mcp --account default'],
  },
  needs: 'nothing',
  async run({ config, log, signal }, { account }): Promise<undefined> {
    const { serveStandardStreams } = await import('./stdio.ts')
    await serveStandardStreams({ config, log }, { account, signal })
  },
})

export const mcp = defineFeature({
  name: 'mcp',
  verbs: { after: 'config', all: [mcpVerb] },
  routes: async (server, web) => (await import('./routes.ts')).registerAssistants(server, web),
})
