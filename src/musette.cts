#!/usr/bin/env node
// The command `musette`. It stands apart from main.ts in the syntax of Node 10, because a Node that is too old for the program must
// still be able to say so.
{
  const least: string = require('../package.json').engines.node.replace('>=', '')
  const numbers = (version: string) => version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = numbers(least)
  const [major = 0, minor = 0] = numbers(process.versions.node)
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) import('./main.js')
  else {
    process.stderr.write(
      `musette needs Node ${least} or newer, this is ${process.versions.node}; install Node 24 from https://nodejs.org, or run: nvm install 24\n`,
    )
    process.exitCode = 2
  }
}
