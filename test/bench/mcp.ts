import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { distPath } from '../kit/processes.ts'
import { openBench, quantile, type Row, timed } from './rig.ts'

const ACTIVITIES = 3_000
const ROUNDS = 15

export async function benchMcp(release: ReleaseStack): Promise<Row[]> {
  const bench = await openBench(release, { rides: ACTIVITIES, seconds: 600, distinct: 10 })
  await bench.musette(['sync'])
  const [one] = (await bench.client.query('select path from training.activities limit 1')).rows
  const calls: Array<[tool: string, input: Record<string, unknown>]> = [
    ['what_is_here', {}],
    ['state_today', {}],
    ['find_activities', { words: 'tempo', sort: 'hardest' }],
    ['get_activity', { activity: one.path }],
    ['power_bests', {}],
    ['recent_changes', {}],
    ['run_query', { sql: 'select week, xss from training.weekly_summary order by week desc limit 52' }],
  ]
  const client = new Client({ name: 'bench', version: '1' })
  release.defer('client', () => client.close())
  const { env } = bench
  const path = { PATH: process.env.PATH ?? '' }
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [distPath('main.js'), 'mcp'],
      env: { ...env, ...path },
    }),
  )
  return await measure(client, calls)
}

async function measure(
  client: Client,
  calls: ReadonlyArray<[tool: string, input: Record<string, unknown>]>,
): Promise<Row[]> {
  const all: number[] = []
  const rows: Row[] = []
  for (const [name, input] of calls) {
    const took: number[] = []
    for (let round = 0; round < ROUNDS; round++)
      took.push(
        await timed(async () => {
          const answer = await client.callTool({ name, arguments: input })
          if (answer.isError) throw new Error(`${name}: ${JSON.stringify(answer.content)}`)
        }),
      )
    all.push(...took)
    rows.push([`${name}, median of ${ROUNDS}`, `${quantile(took, 0.5).toFixed(0)} ms`])
  }
  const p95 = `${quantile(all, 0.95).toFixed(0)} ms`
  return [...rows, [`all of them over ${ACTIVITIES} activities, p95`, p95, 'under 300 ms']]
}
