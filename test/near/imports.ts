import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSource } from '../architecture/rooms.ts'

/** The texts of all files of src/ and test/, by path. */
export type Checkout = ReadonlyMap<string, string>

export function readCheckout(root: string): Checkout {
  const paths = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  return new Map(
    paths
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
  )
}

/** Lists the files whose code a file loads, all or without those that it loads when it needs them. Pure. */
export function listImports(
  checkout: Checkout,
  path: string,
  which: 'all' | 'at the start' = 'all',
): string[] {
  return parseSource(path, checkout.get(path) ?? '')
    .imports.filter(({ typeOnly, late }) => !typeOnly && (which === 'all' || !late))
    .map(({ target }) => target)
    .filter((target) => checkout.has(target))
}

export function mapImporters(checkout: Checkout): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>()
  for (const path of checkout.keys())
    for (const target of listImports(checkout, path))
      importers.set(target, [...(importers.get(target) ?? []), path])
  return importers
}

/** Lists what can be reached, from where it begins on. */
export function reach(
  from: readonly string[],
  next: (path: string) => readonly string[],
): ReadonlySet<string> {
  const reached = new Set(from)
  // A set goes on to what is added while it is read.
  for (const path of reached) for (const one of next(path)) reached.add(one)
  return reached
}
