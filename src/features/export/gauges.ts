import { findWholeWorkState } from '../../core/store/runs.ts'
import { defineGauges } from '../../program/frame/gauges.ts'

export const exportGauges = defineGauges({
  helps: {
    '': {
      musette_export_age_seconds:
        'Seconds since the daemon last exported the whole history; no line while it never did.',
    },
  },
  async read({ read }) {
    const { doneAt } = await read((tx) => findWholeWorkState(tx, 'export'))
    return [{ values: { musette_export_age_seconds: doneAt } }]
  },
})
