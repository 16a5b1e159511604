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

/** The libraries of package-lock.json, by the folder they lie in; our own package is left out. */
export function readLocked(): Map<string, Locked> {
  const { packages }: { packages: Record<string, Locked> } = JSON.parse(readTop('package-lock.json'))
  return new Map(Object.entries(packages).filter(([folder]) => folder !== ''))
}

/** Makes what the Dockerfile's last stage has in /app, from this checkout and its dist/. */
export async function makeLayout(app: string): Promise<void> {
  const copies = copiesOf(parseDockerfile(readTop('Dockerfile')).at(-1))
  for (const copy of copies) {
    for (const source of copy.sources) await copyOne(app, copy, source)
  }
}

async function copyOne(app: string, { stage, target }: Copy, source: string): Promise<void> {
  // Made by npm while the image is built, and read by nobody in it.
  if (source.endsWith('/sbom.cdx.json')) return
  const from = stage === undefined ? source : source.replace('/app/', '')
  const into = target.endsWith('/') ? join(app, target, basename(source)) : join(app, target)
  await cp(join(root, from), into, { recursive: true })
}
