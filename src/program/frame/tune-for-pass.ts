import { setFlagsFromString } from 'node:v8'

/**
 * V8's flags for a short pass. Response bodies are outside V8's heap and large compared with it, but V8 counts them as heap
 * growth: with the default it collects the whole heap every third activity, which costs a fifth of the processor time. So the
 * heap may grow to six times its live size. Without on-stack replacement a hot function is compiled once, for its next call,
 * and not another time for the loop that runs.
 */
const FLAGS = ['--heap-growing-percent=500', '--no-use-osr']

/** Node 20's V8 optimizes functions earlier and longer than a pass of a second repays; newer versions have other flags. */
const FLAGS_OF_NODE_20 = ['--interrupt-budget=400000', '--turbo-force-mid-tier-regalloc']

/** Configures V8 and zod for a process that ends with its pass: less compiling, more memory, which a daemon would keep for its life. */
export async function tuneForPass(): Promise<void> {
  const isNode20 = process.versions.node.startsWith('20.')
  for (const flag of isNode20 ? [...FLAGS, ...FLAGS_OF_NODE_20] : FLAGS) setFlagsFromString(flag)
  const { z } = await import('zod')
  // zod compiles a function for each schema, which is only faster after thousands of answers.
  z.config({ jitless: true })
}
