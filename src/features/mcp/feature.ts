import { defineFeature } from '../../program/frame/define-feature.ts'
import { ASKS, DATABASE } from '../../program/frame/help-of-verbs.ts'
import { defineVerb, option } from '../../program/frame/verb.ts'

const mcpVerb = defineVerb({
  name: 'mcp',
  description: 'answer an assistant on standard input and output (Model Context Protocol, read-only)',
  options: { account: option('--account <name>', 'show only the rows of this account') },
  help: {
    notes: [
      'An assistant starts this command itself; docs/assistants.md has the lines to paste. The command ends when its input ends. A daemon serves the same tools at /mcp.',
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
