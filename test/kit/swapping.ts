import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Swaps the entries of two names as fast as possible until its input ends, and then leaves both in place. */
const SCRIPT = `
const { renameSync } = require('node:fs')
const [, one, other] = process.argv
let isOver = false
process.stdin.on('end', () => { isOver = true }).resume()
const swap = () => {
  for (let i = 0; i < 20; i++) {
    renameSync(one, one + '.aside')
    renameSync(other, one)
    renameSync(one, other)
    renameSync(one + '.aside', one)
  }
  if (isOver) process.exit(0)
  setImmediate(swap)
}
process.stdout.write('begun')
swap()
`

/** Starts a process that swaps two entries again and again. `close` ends it with both in place. */
export async function startSwapping(one: string, other: string): Promise<{ close(): Promise<void> }> {
  const child: ChildProcess = spawn(process.execPath, ['-e', SCRIPT, one, other], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')
  return {
    async close() {
      if (child.exitCode !== null) return
      child.stdin?.end()
      await once(child, 'exit')
    },
  }
}
