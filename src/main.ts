import { runCli } from './program/cli/cli.ts'
import { EXIT } from './program/frame/context.ts'
import { guardStandardStreams } from './program/frame/standard-streams.ts'

// pg asks whether it runs at Cloudflare. Before Node 21, which has a navigator, that loads all of fetch, in 30 ms.
if (!('navigator' in globalThis)) Object.assign(globalThis, { navigator: { userAgent: 'Node.js' } })

guardStandardStreams()

const code = await runCli(process.argv.slice(2))
process.exitCode = code
// Output that its reader leaves lying would keep a stopped process from ending.
if (code === EXIT.interrupted && process.stdout.writableLength > 0) process.exit(code)
