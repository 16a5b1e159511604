import { eventually } from '../kit/eventually.ts'

/** Asks again and again until the check gives something true, 0 not included; fails with what was waited for. */
export async function until<T>(what: string, check: () => T | Promise<T>): Promise<NonNullable<T>> {
  const box = await eventually(
    async () => {
      const found = await check()
      return found ? { found } : undefined
    },
    { what, timeoutMs: 20_000 },
  )
  return box.found
}
