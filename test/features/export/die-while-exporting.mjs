import { readlinkSync } from 'node:fs'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

// Loaded before the program by NODE_OPTIONS: kills the process, as a power cut would, at the second `open` or `rename` of a staged file.

/** Returns the path of a file that is opened relative to an open folder. */
const pathOf = (path) => String(path).replace(/^\/proc\/self\/fd\/\d+/, (folder) => readlinkSync(folder))

let count = 0
for (const name of ['open', 'rename']) {
  const original = fs[name]
  fs[name] = async (...args) => {
    const isStaged = /\.musette-staging.*\.parquet$/.test(pathOf(args[0]))
    const result = await Reflect.apply(original, fs, args)
    if (name === process.env.DIE_AT && isStaged) count += 1
    if (count === 2) process.kill(process.pid, 'SIGKILL')
    return result
  }
}
syncBuiltinESMExports()
