// What `npm pack` does before and after it packs. dist/ contains the libraries, so the packed package.json names none: an install has
// the versions of the lock file and fetches nothing but the Postgres of its platform.
//   begin   compares node_modules/ with the lock file, and takes the libraries out of package.json
//   end     puts package.json back
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
  const { scripts, dependencies, devDependencies, overrides, ...rest } = JSON.parse(text)
  // Without the scripts of a clone: npm would ask each user whether they may run.
  const packed = { ...rest, scripts: { postpack: scripts.postpack } }
  writeFileSync(`${manifest}.new`, `${JSON.stringify(packed, null, 2)}\n`)
  renameSync(`${manifest}.new`, manifest)
}

function end() {
  if (existsSync(original)) renameSync(original, manifest)
}

/** The libraries that the program contains and that are missing, or there in another version. */
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
