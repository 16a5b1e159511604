import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { basename } from 'node:path'
import { watchQueries } from '../../kit/on-query.mjs'

// Loaded before the program by NODE_OPTIONS: kills it at the moment with the number or name KILL_AT. Moments are before and after each
// query that it sends, and each rename or removal in the data directory. Without KILL_AT it prints all moments.

const { KILL_AT: at } = process.env
let count = 0

function reach(what) {
  count += 1
  if (at === undefined) process.stderr.write(`moment ${count}: ${what}\n`)
  else if (String(count) === at || what === at) process.kill(process.pid, 'SIGKILL')
}

watchQueries((text, _, send) => {
  reach(`query ${text.slice(0, 40)}`)
  return send()
})
for (const name of ['rename', 'rm']) {
  const original = fs[name]
  fs[name] = async (...args) => {
    const isOurs = /^postgres\.(next|ready)$|^postgres$/.test(basename(String(args[0])))
    if (isOurs) reach(`before ${name} ${basename(args[0])}`)
    const result = await Reflect.apply(original, fs, args)
    if (isOurs) reach(`after ${name} ${basename(args[0])}`)
    return result
  }
}
syncBuiltinESMExports()
