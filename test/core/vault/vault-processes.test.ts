import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openTestVault, pairAt } from './vault.ts'

const SCRIPT = fileURLToPath(new URL('./refresh-once.ts', import.meta.url))

function startChild(args: string[]) {
  const child: ChildProcess = spawn(process.execPath, ['--import', 'tsx', SCRIPT, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  if (!child.stdout) throw new Error('the child has a pipe')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    nextLine: async () => (await lines.next()).value as string | undefined,
    go: () => child.stdin?.end('go\n'),
    exit: once(child, 'exit'),
  }
}

test('one of three concurrent processes refreshes, and the others use its tokens', async () => {
  const { url, accountId, secretKey, spoolDir, vault } = await openTestVault()
  const since = pairAt(0).obtainedAt.getTime() + 1
  const args = [url, secretKey.toString('hex'), spoolDir, String(accountId), String(since)]
  const children = [startChild(args), startChild(args), startChild(args)]
  for (const child of children) expect(await child.nextLine()).toBe('ready')
  // All of them wait for the row at first, so that they go on at the same moment.
  await vault.locked(accountId, async () => {
    for (const child of children) child.go()
  })
  const ends = await Promise.all(children.map((child) => child.nextLine()))
  const refreshed = ends.filter((line) => line?.startsWith('refreshed'))
  expect(refreshed).toHaveLength(1)
  const token = refreshed[0]?.split(' ')[1]
  expect(ends.filter((line) => line === `waited ${token}`)).toHaveLength(2)
  expect(await vault.read(accountId)).toMatchObject({ refreshToken: token })
  await Promise.all(children.map((child) => child.exit))
})
