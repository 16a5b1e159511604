import { spawn } from 'node:child_process'
import { quoteShell } from '../../src/kit/text.ts'

/**
 * Runs Node, or `program`, on a separate pseudo-terminal of `columns` columns (script of util-linux), as a person does. Keys go through the
 * terminal, which turns Ctrl-C into a signal unless a program prevents that.
 */
export function startOnTerminal(
  args: readonly string[],
  options: { cwd: string; env: Record<string, string>; columns?: number; program?: string },
) {
  const words = [options.program ?? process.execPath, ...args].map(quoteShell)
  const command = `stty cols ${options.columns ?? 80} rows 24 && exec ${words.join(' ')}`
  const child = spawn('script', ['--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH ?? '', HOME: options.cwd, TERM: 'xterm', SHELL: '/bin/sh', ...options.env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  child.stdin.on('error', () => undefined)
  return {
    /** everything that was sent to the terminal, including control sequences */
    screen: () => screen,
    /** presses keys: `\x03` is Ctrl-C, `\x04` is Ctrl-D */
    press: (keys: string) => void child.stdin.write(keys),
    finished: new Promise<{ code: number | null; screen: string }>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (code) => resolve({ code, screen }))
    }),
  }
}
