import { setFlagsFromString } from 'node:v8'

/**
 * V8 flags for a short pass. Response bodies are outside V8's heap and large compared with it, but V8 counts them as heap growth. By default
 * it therefore collects the whole heap at every third activity, which costs a fifth of the CPU time, so the heap may grow to six times its
 * live size. Without on-stack replacement, a hot function is compiled once, for its next call, and not again for the loop that runs.
 */
const FLAGS = ['--heap-growing-percent=500', '--no-use-osr']

/** Node 20's V8 optimizes earlier and longer than pays off in a pass of a second; newer versions have other flags. */
const FLAGS_OF_NODE_20 = ['--interrupt-budget=400000', '--turbo-force-mid-tier-regalloc']

/** Configures V8 and zod for a process that ends with its pass: less compiling, more memory. A daemon would keep that memory. */
export async function tuneForPass(): Promise<void> {
  const isNode20 = process.versions.node.startsWith('20.')
  for (const flag of isNode20 ? [...FLAGS, ...FLAGS_OF_NODE_20] : FLAGS) setFlagsFromString(flag)
  const { z } = await import('zod')
  // zod compiles a function for each schema, which pays off only after thousands of answers.
  z.config({ jitless: true })
}
