import { setFlagsFromString } from 'node:v8'

/**
 * Lets V8's heap grow to three times what lives in it, in a process that ends when its pass does. The answers in flight lie
 * outside of that heap and are large beside it: by default V8 took every third ride for the heap's growth, and spent a fifth
 * of the processor on looking through all of it. A daemon keeps the default: it would hold that room for years.
 */
export function letHeapGrow(): void {
  setFlagsFromString('--heap-growing-percent=200')
}
