import { createInterface } from 'node:readline/promises'
import { pino } from 'pino'
import { openStore } from '../../../src/core/store/store.ts'
import { makeTokenVault } from '../../../src/core/vault/vault.ts'
import { IDENTITY } from '../../kit/identity.ts'

// Run as a process of its own: waits for a line on standard input, then refreshes the tokens of one account unless
// someone else has done so since `obtainedBefore`, and prints what it found.

const [url, key, spoolDir, accountId, obtainedBefore] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
]
const log = pino({ level: 'silent' })
const store = openStore({ log }, { connectionString: url })
const vault = makeTokenVault({ store, log }, { secretKey: Buffer.from(key, 'hex'), spoolDir, ...IDENTITY })
await vault.read(Number(accountId))
process.stdout.write('ready\n')
for await (const _ of createInterface({ input: process.stdin })) break
const found = await vault.locked(Number(accountId), async (held) => {
  const credentials = held.credentials
  if (!credentials) throw new Error('there are credentials')
  if (credentials.obtainedAt.getTime() >= Number(obtainedBefore)) return `waited ${credentials.refreshToken}`
  const obtainedAt = new Date(Number(obtainedBefore) + process.pid)
  const refreshToken = `refresh-${process.pid}`
  await held.save({
    accessToken: 'a',
    refreshToken,
    obtainedAt,
    expiresAt: new Date(obtainedAt.getTime() + 1000),
  })
  return `refreshed ${refreshToken}`
})
process.stdout.write(`${found}\n`)
await store.close()
process.stdin.destroy()
