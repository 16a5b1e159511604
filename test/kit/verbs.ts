import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { noteVerb } from '../near/ran.ts'
import { cleanEnv, distPath, type Finished, type ProcessOptions, runNode } from './processes.ts'

const HOST = fileURLToPath(new URL('./verb-host.mjs', import.meta.url))
/** Verbs that run until they are ended, that read while they run, or that report to their parent. Each gets its own process. */
const OWN_PROCESS: ReadonlySet<string> = new Set(['start', 'sandbox', 'demo', 'mcp', 'db-hold'])
/** Variables that Node and libraries read only once, at their start. */
const READ_AT_START = /^(NODE_|TZ$|LANG|LC_|PATH$|HOME$|USER$|\w+_proxy$|\w+_PROXY$)/
/** Maximum number of shared processes. More concurrent verbs get their own process. */
const HOSTS = 3

type Host = { child: ChildProcess; busy: boolean }
const hosts: Host[] = []

/**
 * Runs a verb of the built program to its end, like runNode, but in a process that has run other verbs before: most of the time of a verb
 * goes into starting Node and loading the program. For tests that do not test the process itself.
 */
export async function runVerb(
  args: readonly string[],
  options: ProcessOptions & { timeoutMs?: number; isWithoutData?: boolean } = {},
): Promise<Finished> {
  const { env = {}, cwd = process.cwd(), input = '', prefix, timeoutMs = 60_000 } = options
  noteVerb(args[0])
  const wantsOwn =
    OWN_PROCESS.has(args[0] ?? '') || prefix || Object.keys(env).some((name) => READ_AT_START.test(name))
  // Without a DATABASE_URL a verb starts its own database server, which belongs to the process that started it. `isWithoutData`: the verb
  // starts none.
  const runOwn = () => runNode([distPath('main.js'), ...args], options)
  if (wantsOwn || !(env.DATABASE_URL || options.isWithoutData)) return runOwn()
  const host = hosts.find(({ busy }) => !busy) ?? (hosts.length < HOSTS ? openHost() : undefined)
  if (!host) return runOwn()

  host.busy = true
  const { child } = host
  const end = `\0${randomUUID()}`
  const printed = { stdout: readUntil(child, 'stdout', end), stderr: readUntil(child, 'stderr', end) }
  const code = once(child, 'message').then(([code]) => code as number)
  const ended = once(child, 'close')
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  child.send({ args, env: { ...cleanEnv(), ...env }, cwd, input, end })
  try {
    const finished = await Promise.race([code, ended.then(() => undefined)])
    const [stdout, stderr] = await Promise.all([printed.stdout, printed.stderr])
    return { code: finished ?? child.exitCode, signal: child.signalCode, stdout, stderr }
  } finally {
    clearTimeout(timer)
    host.busy = false
  }
}

function openHost(): Host {
  const child = spawn(process.execPath, [HOST, distPath('main.js')], {
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  child.setMaxListeners(0)
  child.stdout?.setEncoding('utf8')
  child.stderr?.setEncoding('utf8')
  // The host ends with this process and does not keep it running.
  const kept = [child, child.channel, child.stdout, child.stderr] as ReadonlyArray<{ unref?(): void } | null>
  for (const handle of kept) handle?.unref?.()
  const host = { child, busy: false }
  hosts.push(host)
  child.once('exit', () => hosts.splice(hosts.indexOf(host), 1))
  return host
}

/** Returns what a host prints before `end`, or everything until it closes. */
function readUntil(child: ChildProcess, channel: 'stdout' | 'stderr', end: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const settle = () => {
      child[channel]?.off('data', read)
      child.off('close', settle)
      resolve(text.replace(end, ''))
    }
    const read = (piece: string) => {
      text += piece
      if (text.endsWith(end)) settle()
    }
    child[channel]?.on('data', read)
    child.once('close', settle)
  })
}
