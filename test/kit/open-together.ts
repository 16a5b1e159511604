import { makeReleaseStack } from '../../src/kit/release-stack.ts'

/** Keeps open what is opened, until all of it is closed. */
export type Keep = <T extends { close(): unknown }>(opening: T | Promise<T>) => Promise<T>

/** Opens what belongs together: `close` closes all that was kept, the last first, as a failure on the way does. */
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
