// A worker in its own process: it takes one fetch, reports that, and holds the job until it is killed.
import { pino } from 'pino'
import type { BackendChoice } from '../../../src/core/jobs/backend.ts'
import { openJobs } from '../../../src/core/jobs/jobs.ts'
import { handlersOf, QUICK } from './handlers.ts'

const choice: BackendChoice = JSON.parse(process.argv[2] ?? '')
const jobs = await openJobs(
  {
    log: pino({ level: 'silent' }),
    signal: new AbortController().signal,
    accounts: async () => [],
    handlers: handlersOf(() => new Promise<undefined>(() => process.send?.('taken'))),
  },
  { ...QUICK, backend: choice, lockMs: 1_000, stalledMs: 300 },
)
jobs.work()
