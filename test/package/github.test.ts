import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { VERBS } from '../../src/program/cli/cli.ts'
import { parseDockerfile, readTop } from '../container/dockerfile.ts'

const read = (name: string) => parse(readTop(`.github/${name}`))

describe('the workflow of the repository', () => {
  const step = z.strictObject({ uses: z.string() }).or(z.strictObject({ run: z.string() }))
  const job = z.looseObject({
    strategy: z.looseObject({ matrix: z.record(z.string(), z.array(z.unknown())) }),
    steps: z.array(step),
  })
  const { permissions, jobs } = z
    .looseObject({ permissions: z.unknown(), jobs: z.record(z.string(), job) })
    .parse(read('workflows/checks.yml'))
  const steps = Object.values(jobs).flatMap((each) => each.steps)
  const commands = steps.flatMap((each) => ('run' in each ? [each.run] : []))

  it('calls .ci/run on each Node from the oldest to the one in the image, and builds it', () => {
    const oldest = Number(/\d+/.exec(manifest.engines.node))
    const newest = Number(/\d+/.exec(parseDockerfile(readTop('Dockerfile'))[0]?.from ?? ''))
    const even = Array.from({ length: (newest - oldest) / 2 + 1 }, (_, index) => oldest + 2 * index)
    expect(jobs.run).toMatchObject({
      strategy: { matrix: { node: even } },
      container: { image: `node:$${'{{ matrix.node }}'}-bookworm` },
    })
    expect(commands).toEqual(expect.arrayContaining(['.ci/run', expect.stringMatching(/^docker build /)]))
  })

  it('may only read, and pins the commit and version of each action', () => {
    expect(permissions).toEqual({ contents: 'read' })
    const uses = readTop('.github/workflows/checks.yml').match(/uses: .*/g)
    expect(uses).toHaveLength(steps.filter((each) => 'uses' in each).length)
    for (const each of uses ?? [])
      expect(each).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
  })
})

it('the bug report form asks only for commands that exist', () => {
  const typed = [
    ...readTop('.github/ISSUE_TEMPLATE/defect.yml').matchAll(/label: musette ([a-z]+) (--[a-z]+)/g),
  ]
  expect(typed.length).toBeGreaterThan(1)
  for (const [, verb, option] of typed) {
    const command = VERBS.find(({ words }) => words === verb)?.add(new Command(), async () => undefined)
    expect(
      command?.options.map(({ long }) => long),
      verb,
    ).toContain(option)
  }
})
