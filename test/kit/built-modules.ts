import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = 'dist/.modules'
/** Modules of src/ that tests load in separate processes, where a compiler would cost a second. */
const MODULES = ['embedded/binaries', 'embedded/embedded', 'embedded/run-as'] as const

/** Returns the path of the JavaScript of a module. build-setup.ts keeps it current. */
export function modulePath(name: (typeof MODULES)[number]): string {
  return join(root, FOLDER, `${name}.js`)
}

/** Builds these modules, each with its imports, but without libraries. */
export function buildModules(): void {
  buildSync({
    absWorkingDir: root,
    entryPoints: MODULES.map((name) => `src/${name}.ts`),
    outbase: 'src',
    outdir: FOLDER,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    sourcemap: true,
  })
}
