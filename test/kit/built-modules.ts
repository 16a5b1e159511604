import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = 'dist/.modules'
/** Modules of src/ that tests load in processes of their own, where a compiler would cost a second. */
const MODULES = ['embedded/binaries', 'embedded/embedded', 'embedded/run-as'] as const

/** The path of one of these modules, in JavaScript. build-setup.ts sees to it that it is current. */
export function modulePath(name: (typeof MODULES)[number]): string {
  return join(root, FOLDER, `${name}.js`)
}

/** Builds these modules, each with what it imports, but without the libraries. */
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
