import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

type Instruction = { name: string; value: string }
export type Stage = { from: string; name: string | undefined; instructions: Instruction[] }
export type Copy = { stage: string | undefined; sources: string[]; target: string }

export function readTop(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8')
}

/** Parses a Dockerfile into its stages; drops comment lines and joins continued lines. */
export function parseDockerfile(text: string): Stage[] {
  const stages: Stage[] = []
  const joined = text.replace(/^\s*#.*\n/gm, '').replace(/\\\n\s*/g, ' ')
  for (const line of joined.split('\n').filter((one) => one.trim() !== '')) {
    const [, name = '', value = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    const from = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(value)
    if (name === 'FROM' && from) stages.push({ from: from[1] ?? '', name: from[2], instructions: [] })
    else stages.at(-1)?.instructions.push({ name, value })
  }
  return stages
}

export function valuesOf(stage: Stage | undefined, name: string): string[] {
  return stage?.instructions.filter((one) => one.name === name).map(({ value }) => value) ?? []
}

/** Returns what a stage copies, and from which stage; `undefined` is the checkout. */
export function copiesOf(stage: Stage | undefined): Copy[] {
  return valuesOf(stage, 'COPY').map((value) => {
    const [, from, paths = ''] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(value) ?? []
    const words = paths.split(/\s+/)
    return { stage: from, sources: words.slice(0, -1), target: words.at(-1) ?? '' }
  })
}
