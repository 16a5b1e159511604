import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { noteVerb } from '../near/ran.ts'

export type ProcessOptions = {
  cwd?: string
  /** added to the environment, which has none of our own variables */
  env?: Record<string, string>
  input?: string
  /** keeps standard input open for `type` */
  typed?: boolean
  /** a command before Node, such as `setpriv …` or `unshare …` */
  prefix?: readonly string[]
}
export type Finished = { code: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }

export type Running = ReturnType<typeof watch>

const OURS =
  /^(MUSETTE_|https?_proxy$|no_proxy$|HTTPS?_PROXY$|NO_PROXY$|DATABASE_URL|REDIS_URL|TEST_DATABASE_URL|NODE_OPTIONS$|VITEST|PG[A-Z]+$)/

/** Returns the path of a file of the built program, such as `distPath('main.js')`. build-setup.ts keeps dist/ current. */
export function distPath(path: string): string {
  return fileURLToPath(new URL(`../../dist/${path}`, import.meta.url))
}

/** Runs Node with `args` to its end. After `timeoutMs` it is killed, and `signal` is set. */
export async function runNode(
  args: readonly string[],
  options: ProcessOptions & { timeoutMs?: number } = {},
): Promise<Finished> {
  const running = startNode(args, options)
  const timer = setTimeout(() => void running.kill('SIGKILL'), options.timeoutMs ?? 60_000)
  try {
    return await running.finished
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the environment of this process without our own variables and those of libraries. */
export function cleanEnv(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !OURS.test(name)))
}

/** Starts Node with `args`. The caller ends it. */
export function startNode(args: readonly string[], options: ProcessOptions = {}): Running {
  const [program = '', ...rest] = [...(options.prefix ?? []), process.execPath, ...args]
  noteVerb(args[1 + args.findIndex((arg) => /\/(?:main\.js|musette\.cjs)$/.test(arg))])
  const child = spawn(program, rest, {
    ...(options.cwd ? { cwd: options.cwd } : {}),
    env: { ...cleanEnv(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => undefined)
  if (!options.typed) child.stdin.end(options.input ?? '')
  return watch(child)
}

/** Lists running processes as `pid command line` whose command line contains `text`, for example the folder of a test. */
export async function listProcessesNaming(text: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)('ps', ['-eww', '-o', 'pid=,stat=,args='], {
    maxBuffer: 10_000_000,
  })
  const found: string[] = []
  for (const line of stdout.split('\n')) {
    const [, pid, state, command] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    if (!pid || !command?.includes(text) || state?.startsWith('Z') || Number(pid) === process.pid) continue
    found.push(`${pid} ${command}`)
  }
  return found
}

function watch(child: ChildProcess) {
  const printed = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const channel of ['stdout', 'stderr'] as const) {
    child[channel]?.setEncoding('utf8')
    child[channel]?.on('data', (text: string) => {
      printed[channel] += text
      for (const look of [...waiting]) look()
    })
  }
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...printed }))
  })
  // Nobody has to await the promise; whoever does sees its failure.
  finished.catch(() => undefined)
  return {
    pid: child.pid ?? -1,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    finished,
    /** writes a line to standard input, which must be open (`typed`) */
    type: (line: string) => void child.stdin?.write(`${line}\n`),
    /** sends a signal and waits for the process to end */
    kill(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal)
      return finished
    },
    /** resolves with the first line of either channel that matches, including earlier lines */
    waitForLine(pattern: RegExp, timeoutMs = 30_000) {
      return new Promise<string>((resolve, reject) => {
        const settle = (error: Error | undefined, line = '') => {
          clearTimeout(timer)
          waiting.delete(look)
          if (error) reject(error)
          else resolve(line)
        }
        const look = () => {
          // The last piece may be an incomplete line.
          const lines = [printed.stdout, printed.stderr].flatMap((text) => text.split('\n').slice(0, -1))
          const line = lines.find((one) => pattern.test(one))
          if (line !== undefined) settle(undefined, line)
        }
        const fail = (why: string) =>
          settle(new Error(`${why} before a line matched ${pattern}:\n${printed.stdout}\n${printed.stderr}`))
        const timer = setTimeout(() => fail(`${timeoutMs} ms passed`), timeoutMs)
        waiting.add(look)
        look()
        finished.then(
          ({ code, signal }) => fail(`the process ended (${signal ?? code})`),
          (error: Error) => settle(error),
        )
      })
    },
  }
}
