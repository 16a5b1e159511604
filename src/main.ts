#!/usr/bin/env node
import { runCli } from './cli/cli.ts'

// `musette status | head` is no failure: when the reader has had enough, there is nobody left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await runCli(process.argv.slice(2))
