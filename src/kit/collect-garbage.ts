import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects the garbage of this process at once: what only a wait without a holder keeps alive is gone afterwards. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}
