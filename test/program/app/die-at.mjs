import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { watchQueries } from '../../kit/on-query.mjs'

// Loaded before the program by NODE_OPTIONS: kills the process, as a power cut would, at the moment of a rotation that the variable DIE_AT
// names. Plain JavaScript, so that it needs no compiler.

const moment = process.env.DIE_AT
const die = (now) => {
  if (now === moment) process.kill(process.pid, 'SIGKILL')
}

const { rename } = fs
let waiting = false
fs.rename = async (from, to) => {
  const pending = /secret\.key\.new-[0-9a-f]{8}$/.test(String(to))
  if (pending) die('before the new key is there')
  await rename(from, to)
  if (pending) {
    waiting = true
    die('after the new key is there')
  } else if (String(to).endsWith('secret.key')) die('after the new key is in its place')
}
syncBuiltinESMExports()

watchQueries((text, socket, send) => {
  if (text !== 'COMMIT' || !waiting) return send()
  die('before the commit')
  socket.once('data', () => die('after the commit'))
  return send()
})
