// What `npm pack` does before and after it packs, so that an install of the tarball has the versions of the lock file: the
// libraries are put into it, because neither package-lock.json nor overrides of a package count where it is installed, and
// npm 12 reads no npm-shrinkwrap.json either. The Postgres of each platform stays out; npm installs the one that fits.
//   begin   compares node_modules/ with the lock file, and writes into package.json that the libraries are to be packed
//   end     puts package.json back
// Not in package.json for good, because npm holds overrides for wrong on libraries that are to be packed.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = `${root}package.json`
const original = `${root}dist/.package.json`
const steps = { begin, end }
steps[process.argv[2]]()

function begin() {
  end()
  const wrong = findWrong()
  if (wrong.length > 0) {
    say(`node_modules/ is not as package-lock.json says (${wrong.slice(0, 3).join(', ')}); run: npm ci`)
    process.exit(1)
  }
  const text = readFileSync(manifest, 'utf8')
  writeFileSync(original, text)
  const { scripts, ...rest } = JSON.parse(text)
  // Without the scripts of a clone: npm would ask each user whether they may run.
  const kept = { postpack: scripts.postpack }
  const packed = { ...rest, scripts: kept, bundleDependencies: Object.keys(rest.dependencies ?? {}) }
  writeFileSync(`${manifest}.new`, `${JSON.stringify(packed, null, 2)}\n`)
  renameSync(`${manifest}.new`, manifest)
}

function end() {
  if (existsSync(original)) renameSync(original, manifest)
}

/** The libraries that an install needs and that are missing, or there in another version. */
function findWrong() {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8'))
  return Object.entries(packages).flatMap(([folder, { version, dev, optional, devOptional }]) => {
    if (folder === '' || dev) return []
    const installed = versionIn(`${root}${folder}/package.json`)
    const isFine = installed === version || (installed === undefined && (optional || devOptional))
    return isFine ? [] : [`${folder} ${installed ?? 'is missing'}`]
  })
}

function versionIn(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).version : undefined
}

function say(text) {
  process.stderr.write(`musette: ${text}\n`)
}
