import { spawn } from 'node:child_process'

/** Stands by to stop a server whose owner dies; `dismiss` sends it away without harm. */
export type Watchdog = { dismiss(): Promise<void> }

/**
 * Waits on a pipe that only the owner holds. A line means the owner stopped the server itself; the end of the pipe that
 * it died. The server is stopped as long as postmaster.pid names it, so that a number that the system has given to
 * another program meanwhile is left alone: fast, and after 30 s at once (nothing is lost by either).
 */
const SCRIPT = `
trap '' HUP INT TERM
read -r line && exit 0
pid=$1
directory=$2
is_ours() { [ "$(head -n 1 "$directory/postmaster.pid" 2>/dev/null)" = "$pid" ]; }
tenths=0
while kill -0 "$pid" 2>/dev/null && [ "$tenths" -lt 300 ]; do
  is_ours && kill -INT "$pid" 2>/dev/null
  sleep 0.1
  tenths=$((tenths + 1))
done
is_ours && kill -QUIT "$pid" 2>/dev/null
exit 0
`

/** Starts the watchdog of the server with number `pid` on `directory`, a shell of about 1 MB. */
export function startWatchdog(pid: number, directory: string): Watchdog {
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'musette-watchdog', String(pid), directory], {
    cwd: '/',
    detached: true,
    env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  child.stdin.on('error', () => undefined)
  return {
    dismiss() {
      child.stdin.end('done\n')
      return gone
    },
  }
}
