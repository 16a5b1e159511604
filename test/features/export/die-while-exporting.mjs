import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

// Loaded before the program by NODE_OPTIONS: kills the process, as a power cut would, at the moment of an export that the
// variable DIE_AT names. Plain JavaScript, which needs no compiler.

const moment = process.env.DIE_AT
const die = (now) => {
  if (now === moment) process.kill(process.pid, 'SIGKILL')
}

const { open, rename } = fs
let opened = 0
fs.open = async (path, ...rest) => {
  const file = await open(path, ...rest)
  if (/\.musette-staging.*\.parquet$/.test(String(path))) {
    opened += 1
    if (opened === 5) die('while files are written')
  }
  return file
}
let moved = 0
fs.rename = async (from, to) => {
  const isManifest = String(to).endsWith('musette-export.json')
  const isStaged = String(to).includes('.musette-staging')
  if (isManifest && !isStaged) die('before the manifest is in its place')
  await rename(from, to)
  if (isManifest) {
    if (isStaged) die('when the files are all there')
    return
  }
  moved += 1
  if (moved === 2) die('while files are put in their places')
}
syncBuiltinESMExports()
