import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findBinary } from './binaries.ts'
import { eventually } from './eventually.ts'
import { findFreePort } from './listen.ts'
import { queryOnce } from './postgres.ts'
import { openTempDir } from './temp-dir.ts'

export const PGBOUNCER = findBinary(['pgbouncer'])

/** Opens a PgBouncer in front of the server of `url`, with `size` connections to that database. */
export async function openPooler(
  url: string,
  mode: 'session' | 'transaction',
  size = 20,
): Promise<{ url: string; close(): Promise<void> }> {
  const target = new URL(url)
  const folder = await openTempDir('pooler')
  const port = await findFreePort()
  const path = join(folder.path, 'pgbouncer.ini')
  const login = `user=${decodeURIComponent(target.username)} password=${decodeURIComponent(target.password)}`
  await writeFile(
    path,
    `[databases]\n* = host=${target.hostname} port=${target.port} ${login}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n` +
      `listen_port = ${port}\nunix_socket_dir =\nauth_type = any\npool_mode = ${mode}\ndefault_pool_size = ${size}\n`,
  )
  // PgBouncer refuses to run as root.
  const asRoot = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const child = spawn(PGBOUNCER ?? '', ['-q', ...asRoot, path], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
  const own = new URL(`${target.pathname}`, `postgres://any@127.0.0.1:${port}`).href
  const close = async () => {
    child.kill('SIGKILL')
    await ended
    await folder.close()
  }
  try {
    await eventually(
      async () =>
        queryOnce(own, 'select 1').then(
          () => true,
          () => false,
        ),
      { what: 'PgBouncer' },
    )
    return { url: own, close }
  } catch (error) {
    await close()
    throw error
  }
}
