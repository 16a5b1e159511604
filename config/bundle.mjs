// Builds the program: for Node dist/main.js, dist/parquet-worker.js, dist/musette.cjs and dist/chunks/, for browsers dist/web/. They
// contain the libraries, so that an install needs no node_modules/ of its own (but for the embedded Postgres) and a command reads few
// files. dist/node_modules/ has the two libraries that read files of theirs, dist/licenses.txt the licences of all.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))
/** The pages; a program without this feature has none. */
const DASHBOARD = 'src/features/dashboard'
/** Libraries that read files beside their own: what musette takes of them, from which module, and those files. */
const APART = {
  '@bokuweb/zstd-wasm': {
    names: 'compress, init',
    module: 'dist/common/index.node.js',
    files: ['dist/common/zstd.wasm'],
  },
  // Of its three maps the one with all zones.
  'geo-tz': {
    names: 'find, setCache',
    module: 'dist/find-all.js',
    files: ['data/timezones.geojson.geo.dat', 'data/timezones.geojson.index.json'],
  },
}
/** What pg and msgpackr load when it is there. */
const OPTIONAL = ['pg-native', 'msgpackr-extract']
/** A source map of one place. Stack traces name lines of ours only, and a map with those of the libraries is up to six times as large. */
const MAPS_NEXT_TO_NOTHING = Buffer.from('{"version":3,"sources":["library"],"mappings":"AAAA"}').toString(
  'base64',
)

rmSync(`${root}dist/web`, { recursive: true, force: true })
rmSync(`${root}dist/node_modules`, { recursive: true, force: true })
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: { main: 'src/main.ts', ...listThreads() },
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  // What a command does not need stays in files that it does not read.
  splitting: true,
  external: [...Object.keys(APART), ...OPTIONAL],
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
  minify: true,
  // Node prints the line of an error that nobody caught.
  lineLimit: 200,
  plugins: [
    { name: 'start in one file', setup: joinStart },
    // The first one that loads a file decides.
    { name: 'libraries in parts', setup: takeParts },
    { name: 'libraries without source maps', setup: leaveOutMaps },
  ],
  metafile: true,
  logLevel: 'warning',
})
for (const name of readdirSync(`${root}dist/chunks`)) {
  const made = metafile.outputs[`dist/chunks/${name.replace(/\.map$/, '')}`]
  // A map of libraries alone leads to no line of ours.
  const isWanted = made && !(name.endsWith('.map') && Object.keys(made.inputs).every(isLibrary))
  if (!isWanted) rmSync(`${root}dist/chunks/${name}`)
}
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
const apart = await Promise.all(Object.entries(APART).map(buildApart))
const inputs = [metafile, ...(existsSync(root + DASHBOARD) ? [await buildPages()] : []), ...apart]
const libraries = listLibraries(inputs.flatMap((one) => Object.keys(one.inputs)))
writeFileSync(`${root}dist/licenses.txt`, listLicenses(libraries))
// For config/sbom.mjs.
writeFileSync(
  `${root}dist/.libraries.json`,
  JSON.stringify(libraries.map(({ name, version }) => `${name}@${version}`)),
)
// What each file was made of; the time of this file is that of the build.
writeFileSync(`${root}dist/.inputs.json`, JSON.stringify(metafile.outputs))

/** Builds what browsers load, each file compressed too. */
async function buildPages() {
  const built = await build({
    absWorkingDir: root,
    entryPoints: [
      ...readdirSync(`${root}${DASHBOARD}/pages`)
        .filter((name) => !name.includes('.'))
        .map((name) => `${DASHBOARD}/pages/${name}/page.tsx`),
      `${DASHBOARD}/shared/text-page.tsx`,
      `${DASHBOARD}/shared/styles/styles.css`,
      `${DASHBOARD}/shared/styles/icon.svg`,
    ],
    outbase: DASHBOARD,
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
    metafile: true,
    logLevel: 'warning',
  })
  for (const name of readdirSync(`${root}dist/web`, { recursive: true }))
    if (/\.(?:js|css|svg)$/.test(name))
      writeFileSync(
        `${root}dist/web/${name}.gz`,
        gzipSync(readFileSync(`${root}dist/web/${name}`), { level: 9 }),
      )
  return built.metafile
}

/** Lists the files that run in a thread of their own. */
function listThreads() {
  const paths = readdirSync(`${root}src`, { recursive: true }).filter((path) => path.endsWith('-worker.ts'))
  return Object.fromEntries(paths.map((path) => [basename(path, '.ts'), `src/${path}`]))
}

/**
 * Makes few files of what is loaded together, because finding and reading a file takes longer than what is in most of them: one of what
 * every start loads, and one of each group. import() of a part of a group loads all of it, and so does a file that is loaded later and
 * needs some of it. Otherwise esbuild makes a file of each part that another choice of these files shares.
 */
function joinStart(builder) {
  const LATE = /\bimport\('(\..+?)'\)/g
  const listImports = (path, pattern) =>
    [...readFileSync(path, 'utf8').matchAll(pattern)].map(([, to]) => join(dirname(path), to))
  const reach = (entries) => {
    const reached = new Set(entries)
    for (const path of reached)
      for (const to of listImports(path, /^(?:import|export|\}) (?!type ).*from '(\..+)'$/gm)) reached.add(to)
    return reached
  }
  const sources = readdirSync(`${root}src`, { recursive: true }).filter((path) => path.endsWith('.ts'))
  // A thread begins with a file of its own, and needs no verbs.
  const early = reach(['src/main.ts', ...Object.values(listThreads())].map((path) => root + path))
  const late = [...new Set(sources.flatMap((path) => listImports(`${root}src/${path}`, LATE)))].filter(
    (path) => !early.has(path),
  )
  const groups = [
    { name: 'settings', of: /\/(?:settings|config\/config|src\/log)\.ts$/, isFor: () => true },
    {
      name: 'mirror',
      of: /\/(?:state|local-app|findings\/[^/]+)\.ts$/,
      isFor: (path) => path.endsWith('/core/store/store.ts'),
    },
    { name: 'embedded', of: /\/(?:embedded\/embedded|store\/migrate)\.ts$/, isFor: () => false },
  ].map((group) => ({ ...group, parts: late.filter((path) => group.of.test(path)) }))
  const groupOf = (path) => groups.find(({ parts }) => parts.includes(path))
  const importGroups = (paths, own) => {
    const needed = [...reach(paths)]
    const others = groups.filter((group) => group !== own && needed.some(group.isFor))
    const all = [`${root}src/program/cli/cli.ts`, ...others.map(({ name }) => `group:${name}`)]
    return all.map((path) => `import '${path}';`).join('')
  }
  builder.onResolve({ filter: /^group:/ }, ({ path }) => ({ path: path.slice(6), namespace: 'group' }))
  builder.onLoad({ filter: /^/, namespace: 'group' }, ({ path: name }) => {
    const group = groups.find((each) => each.name === name)
    const parts = group.parts.map((path, index) => `export * as part${index} from '${path}';`).join('')
    return { contents: importGroups(group.parts, group) + parts, resolveDir: root }
  })
  builder.onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
    const text = readFileSync(path, 'utf8').replace(LATE, (whole, to) => {
      const part = join(dirname(path), to)
      const group = groupOf(part)
      return group
        ? `import('group:${group.name}').then((all) => all.part${group.parts.indexOf(part)})`
        : whole
    })
    const isAlone = late.includes(path) && !groupOf(path)
    return { contents: isAlone ? importGroups([path]) + text : text, loader: 'ts' }
  })
}

function leaveOutMaps(builder) {
  builder.onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, ({ path }) => ({
    contents: `${readFileSync(path, 'utf8')}\n//# sourceMappingURL=data:application/json;base64,${MAPS_NEXT_TO_NOTHING}`,
    loader: 'default',
  }))
}

function isLibrary(path) {
  return path.startsWith('node_modules/')
}

function takeParts(builder) {
  builder.onResolve({ filter: /^undici$/ }, () => ({ path: `${root}config/undici.cjs` }))
  // One for musette and for cron-parser, which asks for it in CommonJS.
  builder.onResolve({ filter: /^luxon$/ }, () => ({ path: `${root}node_modules/luxon/build/es6/luxon.mjs` }))
  // Copies of the streams of Node, for browsers.
  builder.onResolve({ filter: /^readable-stream$/ }, () => ({ path: 'node:stream', external: true }))
  // @fastify/static lists a folder with it, which musette does not ask for.
  builder.onLoad({ filter: /\/node_modules\/glob\/.*\.js$/ }, () => ({ contents: '' }))
  // A whole ajv for the answers to forms, which musette sends to no assistant.
  builder.onLoad({ filter: /\/@modelcontextprotocol\/server\/dist\/shimsNode\.mjs$/ }, () => ({
    contents: "export class DefaultJsonSchemaValidator {}\nexport { default as process } from 'node:process'",
  }))
  // Its messages in 50 languages are half of zod.
  builder.onResolve({ filter: /\/locales\/index\.js$/ }, ({ importer }) =>
    importer.includes('/node_modules/zod/')
      ? { path: join(dirname(importer), '../locales/en.js') }
      : undefined,
  )
}

async function buildApart([name, { names, module, files }]) {
  const from = `${root}node_modules/${name}`
  const to = `${root}dist/node_modules/${name}`
  const built = await build({
    absWorkingDir: root,
    stdin: { contents: `export { ${names} } from './${module}'`, resolveDir: from },
    outfile: `${to}/${module}`,
    bundle: true,
    minify: true,
    external: ['*.json'],
    platform: 'node',
    target: 'node20.19',
    format: 'cjs',
    metafile: true,
    logLevel: 'warning',
  })
  for (const file of files) {
    mkdirSync(dirname(`${to}/${file}`), { recursive: true })
    cpSync(`${from}/${file}`, `${to}/${file}`)
  }
  const { version, exports } = JSON.parse(readFileSync(`${from}/package.json`, 'utf8'))
  writeFileSync(`${to}/package.json`, JSON.stringify({ name, version, exports }))
  return built.metafile
}

/** The libraries that these files belong to: their manifests, each with its folder. */
function listLibraries(paths) {
  const folders = paths.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0])
  return [...new Set(folders.filter(Boolean))]
    .sort()
    .map((folder) => ({ ...JSON.parse(readFileSync(`${root}${folder}/package.json`, 'utf8')), folder }))
}

/** The licences of libraries, each text once, after the names and versions of its libraries. */
function listLicenses(libraries) {
  const texts = new Map()
  for (const { name, version, license, author, folder } of libraries) {
    const files = readdirSync(root + folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    const whole = files.map((file) => readFileSync(`${root}${folder}/${file}`, 'utf8').trim())
    const stated = `License: ${license}. Author: ${author?.name ?? author ?? 'not named'}.`
    const text = whole.length > 0 ? whole.join('\n\n') : stated
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${version}`])
  }
  const parts = [...texts].map(([text, names]) => `${names.join('\n')}\n\n${text}`)
  return `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}
