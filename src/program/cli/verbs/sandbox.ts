import { once } from 'node:events'
import { InvalidArgumentError } from 'commander'
import { ConfigError, errorCode } from '../../../kit/errors.ts'
import { wholeNumber } from '../../frame/output.ts'
import { defineVerb, flag, option } from '../../frame/verb.ts'

type Client = { id: string; secret: string }

export const sandboxVerb = defineVerb({
  name: 'sandbox',
  description: 'run the stand-in service on 127.0.0.1, with a rider and years of history',
  options: {
    port: option('--port <port>', 'where it listens', parsePort, 8789),
    activities: option('--activities <count>', 'how many activities the rider has', wholeNumber),
    longestActivitySeconds: option(
      '--longest-activity-seconds <seconds>',
      'the longest duration of an activity, s',
      wholeNumber,
    ),
    seed: option('--seed <seed>', 'the seed of the rider; each seed makes a different rider', wholeNumber),
    sampleDelayMs: option(
      '--sample-delay-ms <ms>',
      'the delay before the samples of an upload are available',
      wholeNumber,
    ),
    home: option('--home <zone>', 'where the rider lives, such as Pacific/Auckland'),
    clients: option(
      '--client <id:secret>',
      'register another client, for all three grants; repeatable',
      addClient,
      [],
    ),
    strict: flag(
      '--strict',
      'answer only as the service document says, and print what a client does beyond it',
    ),
    redirectUris: option<string[], string[]>(
      '--redirect-uri <uri>',
      'redirect address of the other clients; repeatable',
      (text, before) => [...before, text],
      [],
    ),
  },
  help: { settings: [], exits: [], examples: ['musette sandbox --port 8789 --activities 40'] },
  needs: 'nothing',
  withoutDataDir: true,
  async run({ signal, print, note }, { clients, redirectUris, strict, ...options }): Promise<undefined> {
    const { startSandbox } = await import('../../../sandbox/sandbox.ts')
    const sandbox = await startSandbox({
      ...options,
      clients: clients.map((each) => ({ ...each, redirectUris })),
      strict: strict ? (what) => note(`beyond the document: ${what}`) : undefined,
    }).catch((error: unknown) => {
      if (error instanceof ConfigError) throw error
      const reason = `the sandbox cannot listen on port ${options.port} (${errorCode(error)}); add --port 0`
      throw new ConfigError('sandbox_port', reason, { cause: error })
    })
    print(`listening ${sandbox.url}`)
    note(`rider "rider", password "rider"; what it can do: ${sandbox.url}/_sandbox/`)
    if (!signal.aborted) await once(signal, 'abort')
    await sandbox.close()
  },
})

function parsePort(text: string): number {
  const number = wholeNumber(text)
  if (number <= 65_535) return number
  throw new InvalidArgumentError('The highest port is 65535.')
}

function addClient(text: string, before: readonly Client[]): Client[] {
  const colon = text.indexOf(':')
  if (colon > 0) return [...before, { id: text.slice(0, colon), secret: text.slice(colon + 1) }]
  throw new InvalidArgumentError('It is not ID:SECRET, for example my_app:my_secret.')
}
