import { makeReleaseStack } from '../../src/kit/release-stack.ts'

/** Keeps a resource open until all of them are closed. */
export type Keep = <T extends { close(): unknown }>(opening: T | Promise<T>) => Promise<T>

/** Opens several resources. `close` closes all kept ones, the last one first; so does a failure while opening. */
export async function openTogether<T extends object>(open: (keep: Keep) => Promise<T>) {
  const release = makeReleaseStack()
  const close = () => release.release()
  const keep: Keep = async (opening) => {
    const opened = await opening
    release.defer('a part', async () => void (await opened.close()))
    return opened
  }
  try {
    return Object.assign(await open(keep), { close })
  } catch (error) {
    await close()
    throw error
  }
}
