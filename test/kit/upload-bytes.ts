import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { scanNamed } from '../../src/program/app/files/named-files.ts'
import { type HandUpload, uploadByHand } from '../../src/program/app/files/upload-files.ts'
import { openTempDir } from './temp-dir.ts'

type App = Parameters<typeof uploadByHand>[0]
type Input = { account: string; path: string; bytes: Uint8Array; name?: string; signal: AbortSignal }

/** Uploads bytes by hand as a file with this name, and returns the results. */
export async function uploadBytes(app: App, { path, bytes, ...input }: Input): Promise<HandUpload[]> {
  const temp = await openTempDir('by-hand')
  try {
    const file = join(temp.path, basename(path))
    await writeFile(file, bytes)
    const ends: HandUpload[] = []
    const onEnd = (end: HandUpload) => void ends.push(end)
    const files = await scanNamed([file])
    await uploadByHand(app, { ...input, files, force: false, onEnd, onWait: () => undefined })
    return ends
  } finally {
    await temp.close()
  }
}
