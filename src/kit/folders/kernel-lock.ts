import { spawn } from 'node:child_process'

/** `unsupported`: no program takes such a lock here, or the file system refuses it. */
export type LockAttempt = 'acquired' | 'held' | 'unsupported'

const PERL = `open(my $file, '<&=3') or exit 2;
flock($file, ($ARGV[0] eq '-s' ? LOCK_SH : LOCK_EX) | LOCK_NB) and exit 0;
exit($!{EWOULDBLOCK} ? 1 : 2);`

/** Command lines that call flock(2) on descriptor 3 (`-x` exclusive, `-s` shared) and exit 1 when another has the lock. macOS has perl only. */
const PROGRAMS = [
  (mode: string) => ['flock', mode, '-n', '3'],
  (mode: string) => ['perl', '-MFcntl=:flock', '-MErrno', '-e', PERL, '--', mode],
]

/**
 * Tries once to lock an open file or folder by flock(2). The lock belongs to the open file: to the descriptor `fd` and to every process
 * that inherits it, across the containers of one kernel, and the kernel frees it when the last of them is closed. A shared lock excludes
 * exclusive ones only.
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
      // busybox exits 1 also when the file system refuses the lock, and then says why.
      const isRefused = code !== 1 || said.includes('flock: ')
      resolve(code === 0 ? 'acquired' : isRefused ? 'unsupported' : 'held')
    })
  })
}
