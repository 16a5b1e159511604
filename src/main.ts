#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'
import { runCli } from './cli/cli.ts'

// The answers in flight lie outside of V8's heap and are large beside it: by default it took every third ride of a backfill
// for the heap's growth, and spent a fifth of the processor on looking through all of it.
setFlagsFromString('--heap-growing-percent=200')

// `musette status | head` is no failure: when the reader has had enough, there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await runCli(process.argv.slice(2))
