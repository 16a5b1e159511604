// Runs one verb after another for verbs.ts. Each runs through the entry of the program, with its own environment, folder and input, until
// its process would end.
import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const main = process.argv[2]
const running = new AsyncLocalStorage()
const exit = process.exit.bind(process)
// Opens both before resources are counted.
const outputs = [process.stdout, process.stderr]
let count = 0
let current

process.on('disconnect', () => exit())
// A timer of an ended verb may still try to end its process.
process.exit = (code) => {
  if (running.getStore() === current) exit(code)
}
process.on('message', ({ args, env, cwd, input, end }) => {
  count += 1
  current = count
  running.run(count, async () => {
    const atRest = await countActive()
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, env)
    process.chdir(cwd)
    process.argv = [process.execPath, main, ...args]
    process.exitCode = undefined
    const stdin = Readable.from(input === '' ? [] : [Buffer.from(input)], { objectMode: false })
    Object.defineProperty(process, 'stdin', { value: stdin, configurable: true })
    // Another URL runs the entry again; its imports are cached.
    await import(`${pathToFileURL(main)}?${count}`)
    while ((await countActive()) > atRest);
    for (const stream of outputs) {
      stream.removeAllListeners('error')
      stream.write(end)
    }
    current = undefined
    process.send(process.exitCode ?? 0)
  })
})

/** Counts the resources that keep a process running. */
async function countActive() {
  await delay(1)
  return process.getActiveResourcesInfo().length
}
