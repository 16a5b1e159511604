import { spawn } from 'node:child_process'

/** `unsupported`: no program here can take the lock, or the file system refuses it. */
export type LockAttempt = 'acquired' | 'held' | 'unsupported'

const PERL = `open(my $file, '<&=3') or exit 2;
flock($file, ($ARGV[0] eq '-s' ? LOCK_SH : LOCK_EX) | LOCK_NB) and exit 0;
exit($!{EWOULDBLOCK} ? 1 : 2);`

/** Commands that call flock(2) on descriptor 3 (`-x` exclusive, `-s` shared) and exit 1 if the lock is held. macOS only has perl. */
const PROGRAMS = [
  (mode: string) => ['flock', mode, '-n', '3'],
  (mode: string) => ['perl', '-MFcntl=:flock', '-MErrno', '-e', PERL, '--', mode],
]

/**
 * Tries once to lock an open file or folder with flock(2). The lock belongs to the open file description: to `fd` and every process that
 * inherits it, across the containers of one kernel. The kernel frees it when the last descriptor is closed. A shared lock excludes exclusive
 * locks only.
 */
export async function lockDescriptor(fd: number, mode: '-x' | '-s' = '-x'): Promise<LockAttempt> {
  for (const program of PROGRAMS) {
    const attempt = await runOn(fd, program(mode))
    if (attempt !== 'missing') return attempt
  }
  return 'unsupported'
}

function runOn(fd: number, [program = '', ...args]: string[]): Promise<LockAttempt | 'missing'> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe', fd] })
    let said = ''
    child.stderr?.on('data', (chunk: Buffer) => {
      said += chunk
    })
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (['ENOENT', 'EACCES'].includes(error.code ?? '')) resolve('missing')
      else reject(error)
    })
    child.once('close', (code) => {
      // busybox also exits 1 if the file system refuses the lock, and then prints a reason.
      const isRefused = code !== 1 || said.includes('flock: ')
      resolve(code === 0 ? 'acquired' : isRefused ? 'unsupported' : 'held')
    })
  })
}
