import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { findBinary } from '../../kit/binaries.ts'
import { eventually } from '../../kit/eventually.ts'
import { distPath } from '../../kit/processes.ts'
import { openTempDir, type TempDir } from '../../kit/temp-dir.ts'
import { startOnTerminal } from '../../kit/terminal.ts'

const CTRL_U = '\x15'

/** What is typed, and what the line becomes after the Tab key. */
const COMPLETED: ReadonlyArray<[typed: string, becomes: string]> = [
  ['musette key r', 'musette key rotate '],
  ['musette export --form', 'musette export --format '],
  ['musette start --roles sch', 'musette start --roles scheduler '],
  ['musette export --all --to archi', 'musette export --all --to archive/'],
  ['musette --settings mirror.env stat', 'musette --settings mirror.env status '],
]

let folder: TempDir
let env: Record<string, string>
beforeAll(async () => {
  folder = await openTempDir('completion')
  await mkdir(join(folder.path, 'archive'))
  await writeFile(join(folder.path, 'mirror.env'), '')
  const program = join(folder.path, 'bin', 'musette')
  await mkdir(join(folder.path, 'bin'))
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${distPath('main.js')}' "$@"\n`)
  await chmod(program, 0o755)
  env = { PATH: [join(folder.path, 'bin'), process.env.PATH].join(delimiter), HOME: folder.path }
})
afterAll(() => folder?.close())

/** In CI, nothing is skipped. */
const CI = process.env.CI !== undefined
const canType = findBinary(['script']) !== undefined

const linesOf = (screen: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the screen has control sequences
  screen.replace(/\x1b\[[\d;?]*[A-Za-z]|\x1b[=>]|\x07/g, '').replace(/.\x08/g, '')

it.each([
  ['bash', ['--norc', '--noprofile', '-i'], 'source <(musette completion bash)'],
  ['zsh', ['-f', '-i'], 'autoload -U compinit && compinit -u -D && source <(musette completion zsh)'],
])(
  'the completion for %s completes verbs, options, values and paths',
  async (name, args, load) => {
    const program = findBinary([name])
    if (!CI && !(program && canType)) return
    const options = { cwd: folder.path, env: { ...env, PS1: '> ' }, columns: 200, program: program ?? name }
    const shell = startOnTerminal(args, options)
    onTestFinished(async () => {
      shell.press(`${CTRL_U}exit\r`)
      await shell.finished
    })
    shell.press(`${load} && echo load''ed\r`)
    await eventually(() => shell.screen().includes('loaded'))
    for (const [typed, becomes] of COMPLETED) {
      const before = shell.screen().length
      shell.press(`${typed}\t`)
      // The shell echoes the typed line and completes it, each with its own control sequences.
      await eventually(() => linesOf(shell.screen().slice(before)).includes(becomes), { what: becomes })
      shell.press(CTRL_U)
    }
  },
  180_000,
)

it('the completion for fish completes verbs, options, values and paths', async () => {
  const fish = findBinary(['fish'])
  if (!CI && !fish) return
  const script = COMPLETED.map(([typed]) => `complete -C '${typed}'`).join('; ')
  const args = ['--no-config', '-c', `musette completion fish | source; ${script}`]
  const { stdout } = await promisify(execFile)(fish ?? 'fish', args, { cwd: folder.path, env })
  const words = stdout.split('\n').map((line) => line.split('\t')[0])
  for (const [, becomes] of COMPLETED) expect(words).toContain(becomes.trim().split(' ').at(-1))
}, 180_000)
