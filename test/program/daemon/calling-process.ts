import { once } from 'node:events'
import { openLog } from '../../../src/log.ts'
import { openApp } from '../../../src/program/app/app.ts'
import { accountNamed } from '../../../src/program/app/local-app.ts'
import { readConfig } from '../../kit/config.ts'

// One of several processes that share an account: it prints that it is ready, waits for a line, calls the service many times at once and
// prints the results.
const CALLERS = 20

const app = await openApp(readConfig(), await openLog({ level: 'trace', terminal: false }), { features: [] })
try {
  const service = app.service.forAccount(await accountNamed(app, 'default'))
  process.stdout.write('ready\n')
  await once(process.stdin, 'data')
  process.stdin.destroy()
  const calls = Array.from({ length: CALLERS }, () => service.fetchTrainingInfo({}))
  const ends = await Promise.allSettled(calls)
  const failed = ends.filter((end) => end.status === 'rejected').map((end) => String(end.reason))
  process.stdout.write(JSON.stringify({ succeeded: CALLERS - failed.length, failed }))
} finally {
  await app.close()
}
