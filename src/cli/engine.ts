import { setFlagsFromString } from 'node:v8'
import { z } from 'zod'

/**
 * The answers in flight lie outside of V8's heap and are large beside it: by default they count as its growth, all of it is
 * looked through every third ride, and that takes a fifth of the processor. It may grow to six times what lives in it. And
 * what is hot is compiled once, for its next call, and not before that in the middle of its loop, too.
 */
const FLAGS = ['--heap-growing-percent=500', '--no-use-osr']

/** Node 20's V8 compiles early and thoroughly what a pass of a second has no time to earn back; newer ones know other flags. */
const FLAGS_OF_NODE_20 = ['--interrupt-budget=400000', '--turbo-force-mid-tier-regalloc']

/**
 * Sets V8 and zod up for a process that ends when its pass does: less is compiled, and more memory is held. A daemon keeps
 * the defaults, it would hold that room for years.
 */
export function tuneForPass(): void {
  const isNode20 = process.versions.node.startsWith('20.')
  for (const flag of isNode20 ? [...FLAGS, ...FLAGS_OF_NODE_20] : FLAGS) setFlagsFromString(flag)
  // zod writes a program for each schema, which pays after thousands of answers.
  z.config({ jitless: true })
}
