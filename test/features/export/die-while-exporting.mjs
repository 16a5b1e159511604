import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

// Loaded before the program by NODE_OPTIONS: kills the process, as a power cut would, at the second `open` or `rename` of a staged file.

let count = 0
for (const name of ['open', 'rename']) {
  const original = fs[name]
  fs[name] = async (...args) => {
    const result = await Reflect.apply(original, fs, args)
    if (name === process.env.DIE_AT && /\.musette-staging.*\.parquet$/.test(String(args[0]))) count += 1
    if (count === 2) process.kill(process.pid, 'SIGKILL')
    return result
  }
}
syncBuiltinESMExports()
