import { existsSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
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

/** The folders of the libraries that the image has: none for development, none that is optional. */
export function listShipped(): string[] {
  const isShipped = ({ dev, optional, devOptional }: Locked) => !dev && !optional && !devOptional
  return [...readLocked()].filter(([, locked]) => isShipped(locked)).map(([folder]) => folder)
}

/** Makes what the Dockerfile's last stage has in /app, from this checkout, its dist/ and its node_modules/. */
export async function makeLayout(app: string): Promise<void> {
  const copies = copiesOf(parseDockerfile(readTop('Dockerfile')).at(-1))
  for (const copy of copies) {
    for (const source of copy.sources) await copyOne(app, copy, source)
  }
}

async function copyOne(app: string, { stage, target }: Copy, source: string): Promise<void> {
  if (source.endsWith('/node_modules')) return await copyLibraries(app)
  // Made by npm while the image is built, and read by nobody in it.
  if (source.endsWith('/sbom.cdx.json')) return
  const from = stage === undefined ? source : source.replace('/app/', '')
  const into = target.endsWith('/') ? join(app, target, basename(source)) : join(app, target)
  await cp(join(root, from), into, { recursive: true })
}

/** Copies the libraries of the image into `app`; with `optional` also those that npm installs where they fit. */
export async function copyLibraries(app: string, { optional = false } = {}): Promise<void> {
  const fitting = [...readLocked()].filter(
    ([folder, { dev, devOptional }]) => !dev && (optional || !devOptional) && existsSync(join(root, folder)),
  )
  for (const folder of optional ? fitting.map(([each]) => each) : listShipped()) {
    const target = join(app, folder)
    await mkdir(dirname(target), { recursive: true })
    // What lies deeper is a library of its own, and copied, or not, in its turn.
    const isOwn = (path: string) => !path.slice(join(root, folder).length).includes('/node_modules')
    await cp(join(root, folder), target, { recursive: true, filter: isOwn })
  }
}
