import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeReleaseStack } from '../../src/kit/release-stack.ts'
import { readTop } from '../container/dockerfile.ts'
import { findBinary } from '../kit/binaries.ts'
import { eventually } from '../kit/eventually.ts'
import { findFreePort } from '../kit/listen.ts'
import { distPath, listProcessesNaming } from '../kit/processes.ts'
import { openReceiver, type Receiver } from '../kit/receiver.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const SLOW = 600_000

type Step = { command: string; expected: string[] }

/** Reads the commands of a page and what it shows below each: lines after `$ ` and `> ` are the command. */
function readSteps(page: string): Step[] {
  const steps: Step[] = []
  for (const [, block = ''] of page.matchAll(/^```console\n([\s\S]*?)^```$/gm)) {
    for (const line of block.split('\n').slice(0, -1)) {
      if (line.startsWith('$ ')) steps.push({ command: line.slice(2), expected: [] })
      else if (line.startsWith('> ')) (steps.at(-1) as Step).command += `\n${line.slice(2)}`
      else steps.at(-1)?.expected.push(line)
    }
  }
  return steps
}

/** Stand-ins for what a test cannot have: an installed package, a service manager, root, and a machine that starts again. */
const PROGRAMS: Readonly<Record<string, string>> = {
  musette: 'exec node "$PREFIX/lib/node_modules/musette/dist/main.js" "$@"',
  systemctl: `case "$*" in
    *enable*) start-service ;;
    *is-active*) kill -0 "$(cat "$HOME/service.pid")" && echo active ;;
  esac`,
  // As a service manager does: the lines of the unit, with nothing of the environment of a terminal.
  'start-service': `unit="$HOME/.config/systemd/user/musette.service"
    run=$(sed -n 's/^ExecStart=//p' "$unit")
    path=$(sed -n 's/^Environment="PATH=\\(.*\\)"$/\\1/p' "$unit")
    cd "$HOME" && env -i HOME="$HOME" PATH="\${path:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin}" PREFIX="$PREFIX" MUSETTE_HTTP="$MUSETTE_HTTP" setsid $run >> "$HOME/service.log" 2>&1 &
    echo $! > "$HOME/service.pid"`,
  loginctl: 'true',
  sudo: 'exec "$@"',
  reboot: 'kill -9 "$(cat "$HOME/service.pid")"; start-service',
}

const release = makeReleaseStack()
let home: string
let receiver: Receiver
let sandboxUrl: string
let env: Record<string, string>
beforeAll(async () => {
  const folder = await openTempDir('tutorial')
  release.defer('folder', () => folder.close())
  home = join(folder.path, 'home')
  const [bin, prefix] = [join(folder.path, 'bin'), join(folder.path, 'prefix')]
  const installed = join(prefix, 'lib/node_modules/musette')
  for (const path of [home, bin, installed]) await mkdir(path, { recursive: true })
  await cp(distPath(''), join(installed, 'dist'), { recursive: true })
  for (const path of ['package.json', 'drizzle', 'config'])
    await cp(path, join(installed, path), { recursive: true })
  // For the embedded Postgres.
  await symlink(join(process.cwd(), 'node_modules'), join(installed, 'node_modules'))
  for (const [name, script] of Object.entries(PROGRAMS)) {
    await writeFile(join(bin, name), `#!/bin/bash\n${script}\n`)
    await chmod(join(bin, name), 0o755)
  }
  receiver = await openReceiver((response) => response.writeHead(200).end())
  release.defer('receiver', () => receiver.close())
  release.defer('processes', async () => {
    for (const line of await listProcessesNaming(folder.path)) endProcess(Number.parseInt(line, 10))
    await eventually(async () => (await listProcessesNaming(folder.path)).length === 0)
  })
  sandboxUrl = `http://127.0.0.1:${await findFreePort()}`
  env = {
    HOME: home,
    PREFIX: prefix,
    PATH: `${bin}:${process.env.PATH}`,
    npm_config_prefix: prefix,
    npm_config_loglevel: 'error',
    MUSETTE_HTTP: `127.0.0.1:${await findFreePort()}`,
    LC_ALL: 'C.UTF-8',
    PGTZ: 'UTC',
  }
}, SLOW)
afterAll(() => release.release())

it(
  'docs/tutorial.md shows what its commands print, from the first login to psql after a reboot',
  async () => {
    const steps = readSteps(readTop('docs/tutorial.md')).filter(
      ({ command }) => !command.startsWith('psql') || findBinary(['psql']),
    )
    expect(steps.length).toBeGreaterThan(15)
    const printed = await runAll(steps)
    for (const [index, { command, expected }] of steps.entries()) {
      const { code, text } = printed[index] ?? { code: 'not run', text: '' }
      expect(code, `${command}\n${text}`).toBe('0')
      const lines = plain(text).split('\n')
      expect(isAsShown(lines, expected.map(plain)), `${command}\n${lines.join('\n')}`).toBe(true)
    }

    const refusal = () => receiver.received.find(({ text }) => text.includes('shopping.fit'))
    const { text } = await eventually(refusal, { timeoutMs: 180_000, everyMs: 500 })
    expect(JSON.parse(text).topic).toBe('a-topic-that-nobody-guesses')
  },
  SLOW,
)

/** Runs commands one after the other in one shell; each has what it printed on both channels. */
async function runAll(steps: readonly Step[]): Promise<Array<{ code: string; text: string }>> {
  const script = steps.map(({ command }) => `{ ${local(command)}\n}\nprintf '\\n@@ %s\\n' $?`).join('\n')
  const file = join(home, '..', 'page.sh')
  await writeFile(file, `exec 2>&1 < /dev/null\ncd\n${script}\n`)
  const { stdout } = await promisify(execFile)('bash', [file], { env, timeout: SLOW, maxBuffer: 10_000_000 })
  return [...stdout.matchAll(/([\s\S]*?)\n@@ (\d+)\n/g)].map(([, text = '', code = '']) => ({ code, text }))
}

/** Puts the addresses of the test in the places of those of the page. */
function local(command: string): string {
  return command
    .replaceAll('musette sandbox', `musette sandbox --port ${new URL(sandboxUrl).port}`)
    .replaceAll('http://127.0.0.1:8789', sandboxUrl)
    .replaceAll('https://ntfy.sh', receiver.url)
}

/** Returns a text with what differs from run to run made equal: folders, addresses, times. */
function plain(text: string): string {
  return text
    .replaceAll(home, '/home/you')
    .replaceAll(sandboxUrl, 'http://127.0.0.1:8789')
    .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{8}/g, 'TIME')
    .replaceAll(/\b\d+ ms\b/g, 'N ms')
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n+$/, '')
}

/** Tells whether lines are those of the page, where `…` stands for any number of lines. */
function isAsShown(lines: readonly string[], shown: readonly string[]): boolean {
  const pattern = shown.join('\n').replace(/\n+$/, '').split('\n')
  const escaped = pattern.map((line) =>
    line === '…' ? '(?:.*\\n)*' : `${line.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')}\\n`,
  )
  return new RegExp(`^${escaped.join('')}$`).test(`${lines.join('\n')}\n`)
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
