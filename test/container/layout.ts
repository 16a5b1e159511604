import { cp } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Copy, copiesOf, parseDockerfile, readTop } from './dockerfile.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

export type Locked = {
  dev?: boolean
  optional?: boolean
  devOptional?: boolean
  license?: string
  version: string
}

/** Reads the libraries of package-lock.json by folder, without our own package. */
export function readLocked(): Map<string, Locked> {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(readTop('package-lock.json'))
  return new Map(Object.entries(packages).filter(([folder]) => folder !== ''))
}

/** Makes the /app of the Dockerfile's last stage from this checkout and its dist/. */
export async function makeLayout(app: string): Promise<void> {
  const copies = copiesOf(parseDockerfile(readTop('Dockerfile')).at(-1))
  for (const copy of copies) {
    for (const source of copy.sources) await copyOne(app, copy, source)
  }
}

async function copyOne(app: string, { stage, target }: Copy, source: string): Promise<void> {
  // npm makes this file during the build, and nothing in the image reads it.
  if (source.endsWith('/sbom.cdx.json')) return
  const from = stage === undefined ? source : source.replace('/app/', '')
  const into = target.endsWith('/') ? join(app, target, basename(source)) : join(app, target)
  await cp(join(root, from), into, { recursive: true })
}
