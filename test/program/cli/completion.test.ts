import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findBinary } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { distPath, runNode } from '../../kit/processes.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { startOnTerminal } from '../../kit/terminal.ts'

const CTRL_U = '\x15'

/** What is typed, and what the line becomes at the Tab key. */
const COMPLETED: ReadonlyArray<[typed: string, becomes: string]> = [
  ['musette healthc', 'musette healthcheck '],
  ['musette key r', 'musette key rotate '],
  ['musette export --form', 'musette export --format '],
  ['musette upload --acc', 'musette upload --account '],
  ['musette export --format par', 'musette export --format parquet '],
  ['musette start --roles sch', 'musette start --roles scheduler '],
  ['musette export --all --to archi', 'musette export --all --to archive/'],
  ['musette --settings mir', 'musette --settings mirror.env '],
  ['musette upload mor', 'musette upload morning.fit '],
  ['musette --settings mirror.env stat', 'musette --settings mirror.env status '],
]

let folder: TempDir
let env: Record<string, string>
beforeAll(async () => {
  folder = await openTempDir('completion')
  await mkdir(join(folder.path, 'archive'))
  for (const name of ['mirror.env', 'morning.fit']) await writeFile(join(folder.path, name), '')
  const program = join(folder.path, 'bin', 'musette')
  await mkdir(join(folder.path, 'bin'))
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${distPath('main.js')}' "$@"\n`)
  await chmod(program, 0o755)
  env = { PATH: [join(folder.path, 'bin'), process.env.PATH].join(delimiter), HOME: folder.path }
})
afterAll(() => folder?.close())

/** Nothing is left out there. */
const CI = process.env.CI !== undefined
const bash = findBinary(['bash'])
const zsh = findBinary(['zsh'])
const fish = findBinary(['fish'])

/** Starts a shell, loads the completion into it and returns what a typed line becomes at the Tab key. */
async function openShell(program: string, args: readonly string[], load: string) {
  const shell = startOnTerminal(args, { cwd: folder.path, env: { ...env, PS1: '> ' }, columns: 200, program })
  onTestFinished(async () => {
    shell.press(`${CTRL_U}exit\r`)
    await shell.finished
  })
  shell.press(`${load} && echo load''ed\r`)
  await eventually(() => shell.screen().includes('loaded'))
  return async (typed: string, becomes: string) => {
    const before = shell.screen().length
    shell.press(`${typed}\t`)
    // The shell shows the typed line and completes it, each with control sequences of its own.
    await eventually(() => linesOf(shell.screen().slice(before)).includes(becomes)).catch(() =>
      expect(linesOf(shell.screen().slice(before))).toContain(becomes),
    )
    shell.press(CTRL_U)
  }
}

const linesOf = (screen: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the screen has control sequences
  screen.replace(/\x1b\[[\d;?]*[A-Za-z]|\x1b[=>]|\x07/g, '').replace(/.\x08/g, '')

describe.runIf(CI || (bash && findBinary(['script'])))('the completion for bash', () => {
  it('completes verbs, options, values and paths', async () => {
    const args = ['--norc', '--noprofile', '-i']
    const press = await openShell(bash ?? '', args, 'source <(musette completion bash)')
    for (const [typed, becomes] of COMPLETED) await press(typed, becomes)
  }, 180_000)
})

describe.runIf(CI || (zsh && findBinary(['script'])))('the completion for zsh', () => {
  it('completes verbs, options, values and paths', async () => {
    const load = 'autoload -U compinit && compinit -u -D && source <(musette completion zsh)'
    const press = await openShell(zsh ?? '', ['-f', '-i'], load)
    for (const [typed, becomes] of COMPLETED) await press(typed, becomes)
  }, 180_000)
})

describe.runIf(CI || fish)('the completion for fish', () => {
  it('completes verbs, options, values and paths', async () => {
    for (const [typed, becomes] of COMPLETED) {
      const script = `musette completion fish | source; complete -C '${typed}'`
      const { stdout } = await promisify(execFile)(fish ?? '', ['--no-config', '-c', script], {
        cwd: folder.path,
        env,
      })
      const word = becomes.trim().split(' ').at(-1)
      expect(stdout.split('\n').map((line) => line.split('\t')[0])).toContain(word)
    }
  }, 180_000)
})

it('completion reads no settings and no database, and names the shells that it knows', async () => {
  const wrong = { DATABASE_URL: 'nonsense', MUSETTE_POLL_EVERY: 'never' }
  const { code, stderr } = await runNode([distPath('main.js'), 'completion', 'bash'], { env: wrong })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const refused = await runNode([distPath('main.js'), 'completion', 'tcsh'])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('bash, zsh, fish') })
})
