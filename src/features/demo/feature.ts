import { defineFeature } from '../../program/frame/define-feature.ts'
import { ASKS } from '../../program/frame/help-of-verbs.ts'
import { wholeNumber } from '../../program/frame/output.ts'
import { defineVerb, flag, option } from '../../program/frame/verb.ts'

/** Number of activities in the demo: several years of history, but few enough to be mirrored in seconds. */
const DEMO_ACTIVITIES = 150

const demoVerb = defineVerb({
  name: 'demo',
  description:
    'show everything on this machine: a stand-in service, a Postgres, the daemon, an upload, some SQL',
  options: {
    once: flag('--once', 'exit when everything has been shown'),
    activities: option(
      '--activities <count>',
      'how many activities the stand-in rider has',
      wholeNumber,
      DEMO_ACTIVITIES,
    ),
  },
  help: { settings: ['MUSETTE_DATA_DIR'], exits: ASKS, examples: ['musette demo --once'] },
  needs: 'nothing',
  run: async (tools, options) => (await import('./demo.ts')).demo(tools, options),
})

export const demo = defineFeature({
  name: 'demo',
  verbs: { after: 'sandbox', all: [demoVerb] },
})
