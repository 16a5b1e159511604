// A process that subscribes at the broker in its first argument, prints `ready`, and after the message "end" prints the growth of its
// memory, MB.
import { openBroker } from '../../../src/features/mqtt/broker.ts'

const [url = '', password = ''] = process.argv.slice(2)
let end: () => void = () => undefined
const ended = new Promise<void>((resolve) => {
  end = resolve
})
const broker = await openBroker(
  { url, password, ca: undefined, cert: undefined, key: undefined, commands: true },
  { onMessage: ({ topic }) => (topic === 'musette/end/poll' ? end() : undefined) },
)
const peakMb = () => process.resourceUsage().maxRSS / 1_024
const before = peakMb()
await broker.subscribe(['homeassistant/status', 'musette/+/poll'])
process.stdout.write('ready\n')
await ended
process.stdout.write(`grew ${Math.round(peakMb() - before)}\n`)
await broker.close()
