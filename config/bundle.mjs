// Builds the program: for Node dist/main.js, dist/parquet-worker.js, dist/musette.cjs and dist/chunks/, for browsers dist/web/. They contain the libraries, because a command that
// reads some hundred files starts at half the speed. node_modules/ is still needed: the libraries of LOADED_BY_PATH are
// read there, and the licences of all are there.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
/** Libraries that find a file of theirs from where they lie, and those that pg and msgpackr ask for and need not have. */
const LOADED_BY_PATH = ['@bokuweb/zstd-wasm', 'pg-native', 'msgpackr-extract']
/** A source map of one place. Stack traces name lines of ours only, and a map with those of the libraries is up to six times as large. */
const MAPS_NEXT_TO_NOTHING = Buffer.from('{"version":3,"sources":["library"],"mappings":"AAAA"}').toString(
  'base64',
)

rmSync(`${root}dist/web`, { recursive: true, force: true })
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: { main: 'src/main.ts', 'parquet-worker': 'src/app/export/parquet-worker.ts' },
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  // What a command does not need stays in files that it does not read.
  splitting: true,
  external: LOADED_BY_PATH,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  // For the libraries in CommonJS that ask for a module of Node.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  // BullMQ and others ask an error for the name of its class.
  keepNames: true,
  sourcemap: true,
  sourcesContent: false,
  plugins: [
    { name: 'libraries without source maps', setup: leaveOutMaps },
    { name: 'libraries in parts', setup: takeParts },
  ],
  metafile: true,
  logLevel: 'warning',
})
await build({
  absWorkingDir: root,
  entryPoints: [
    ...readdirSync(`${root}src/web/pages`)
      .filter((name) => !name.includes('.'))
      .map((name) => `src/web/pages/${name}/page.tsx`),
    'src/web/shared/text-page.tsx',
    'src/web/shared/styles/styles.css',
    'src/web/shared/styles/icon.svg',
  ],
  outbase: 'src/web',
  outdir: 'dist/web',
  chunkNames: 'chunks/[name]-[hash]',
  loader: { '.svg': 'copy' },
  entryNames: '[dir]/[name]',
  assetNames: '[dir]/[name]',
  bundle: true,
  splitting: true,
  minify: true,
  platform: 'browser',
  target: 'es2022',
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
})
for (const name of readdirSync(`${root}dist/chunks`))
  if (!(`dist/chunks/${name}` in metafile.outputs)) rmSync(`${root}dist/chunks/${name}`)
await build({
  absWorkingDir: root,
  entryPoints: ['src/musette.cts'],
  outfile: 'dist/musette.cjs',
  platform: 'node',
  // As the file says, an old Node reads it.
  target: 'node10',
  supported: { 'dynamic-import': true },
  format: 'cjs',
  logLevel: 'warning',
})
for (const name of readdirSync(`${root}dist/web`, { recursive: true }))
  if (/\.(?:js|css|svg)$/.test(name))
    writeFileSync(
      `${root}dist/web/${name}.gz`,
      gzipSync(readFileSync(`${root}dist/web/${name}`), { level: 9 }),
    )
// What each file was made of; the time of this file is that of the build.
writeFileSync(`${root}dist/.inputs.json`, JSON.stringify(metafile.outputs))

function leaveOutMaps(builder) {
  builder.onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, ({ path }) => ({
    contents: `${readFileSync(path, 'utf8')}\n//# sourceMappingURL=data:application/json;base64,${MAPS_NEXT_TO_NOTHING}`,
    loader: 'default',
  }))
}

function takeParts(builder) {
  builder.onResolve({ filter: /^undici$/ }, () => ({ path: `${root}config/undici.cjs` }))
  // Its messages in 50 languages are half of zod.
  builder.onResolve({ filter: /\/locales\/index\.js$/ }, ({ importer }) =>
    importer.includes('/node_modules/zod/')
      ? { path: join(dirname(importer), '../locales/en.js') }
      : undefined,
  )
}
