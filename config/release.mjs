// Makes a release: `node config/release.mjs 1.2.0`. It writes the version into package.json and package-lock.json, makes the
// section of CHANGELOG.md out of `## Pending`, makes the tarball, the SBOM and their checksums in dist/release/, commits and
// tags. Nothing leaves this machine. A tree with changes or a red check is refused, and a failure leaves everything as it was.
// With --dry-run it does the same, but for the commit and the tag.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const release = `${root}dist/release/`
const WRITTEN = ['package.json', 'package-lock.json', 'CHANGELOG.md']
const PENDING = /^## Pending\n([\s\S]*?)(?=^## |(?![\s\S]))/m

const dryRun = process.argv.includes('--dry-run')
const [version = ''] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const tag = `v${version}`

checkRequest()
const head = git('rev-parse', 'HEAD')
// Ctrl-C ends the step that runs, which is a failure like another.
process.on('SIGINT', () => undefined)
try {
  say('running .ci/run, which takes a while')
  run(`${root}.ci/run`, [], 'a check is red; mend it first')
  checkTree('the checks changed files')
  const notes = writeVersion()
  makeFiles()
  if (dryRun) putBack()
  else commit(notes)
} catch (error) {
  putBack()
  fail(error.message)
}
say(
  dryRun
    ? `${tag} can be released; what it would consist of is in dist/release/`
    : `${tag} is released on this machine; its files are in dist/release/; publish it with: git push --follow-tags`,
)

function checkRequest() {
  if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    fail('name the version: node config/release.mjs 1.2.0 [--dry-run]')
  checkTree('there are changes that are not committed')
  if (git('tag', '--list', tag) !== '') fail(`${tag} is there already; name a higher version`)
  const { version: released } = JSON.parse(read('package.json'))
  const [wanted, present] = [version, released].map((text) => text.split('-')[0])
  const rises = wanted.localeCompare(present, 'en', { numeric: true })
  if (rises < 0 || (rises === 0 && present === released)) fail(`this is ${released}; name a higher version`)
  const [, pending = ''] = PENDING.exec(read('CHANGELOG.md')) ?? []
  if (pending.trim() === '') fail('CHANGELOG.md has nothing under "## Pending"; write what is new')
}

function checkTree(what) {
  const changed = git('status', '--porcelain')
  if (changed !== '') fail(`${what}; commit or remove them:\n${changed}`)
}

/** Writes the version into the three files and returns what is new in it. */
function writeVersion() {
  const day = new Date().toISOString().slice(0, 10)
  const changelog = read('CHANGELOG.md')
  const [, notes = ''] = PENDING.exec(changelog) ?? []
  writeFileSync(`${root}CHANGELOG.md`, changelog.replace('## Pending', `## ${version}, ${day}`))
  for (const name of ['package.json', 'package-lock.json']) {
    const content = JSON.parse(read(name))
    content.version = version
    if (content.packages) content.packages[''].version = version
    writeFileSync(root + name, `${JSON.stringify(content, null, 2)}\n`)
  }
  return notes.trim()
}

function makeFiles() {
  // Without dist/ of before, which may hold files whose source is gone.
  rmSync(`${root}dist`, { recursive: true, force: true })
  mkdirSync(release, { recursive: true })
  run('npm', ['pack', '--pack-destination', release, '--loglevel=error'], 'the tarball was not made')
  const sbom = run('node', ['config/sbom.mjs'], 'the SBOM was not made')
  writeFileSync(`${release}musette-${version}.cdx.json`, sbom)
  const sums = readdirSync(release).map((name) => {
    const sum = createHash('sha256')
      .update(readFileSync(release + name))
      .digest('hex')
    return `${sum}  ${name}\n`
  })
  writeFileSync(`${release}SHA256SUMS`, sums.join(''))
}

function commit(notes) {
  git('add', ...WRITTEN)
  git('commit', '--quiet', '--message', `release ${version}`)
  git('tag', '--annotate', tag, '--cleanup=verbatim', '--message', `musette ${version}\n\n${notes}\n`)
}

function putBack() {
  run('node', ['config/package.mjs', 'end'], 'package.json was not put back')
  git('reset', '--quiet', head)
  git('checkout', '--quiet', '--', ...WRITTEN)
}

function read(name) {
  return readFileSync(root + name, 'utf8')
}

function git(...args) {
  return run('git', args, `git ${args[0]} failed`).trimEnd()
}

/** Runs a command to its end and returns what it printed. Throws with `failure` and the end of what it said. */
function run(command, args, failure) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    shell: process.platform === 'win32',
  })
  if (status === 0) return stdout
  const said = `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`
    .trim()
    .split('\n')
    .slice(-20)
    .join('\n')
  throw new Error(`${failure}:\n${said}`)
}

function say(text) {
  process.stderr.write(`musette: ${text}\n`)
}

function fail(text) {
  say(text)
  process.exit(1)
}
