import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ReleaseStack } from '../../src/kit/release-stack.ts'
import { makeFitFile } from '../../src/sandbox/fit-file.ts'
import { distPath, startNode } from '../kit/processes.ts'
import { openSandboxBench, quantile, type Row } from './rig.ts'

const FILES = 20
const SECONDS = 7_200
const DAY_MS = 86_400_000
const LOOK_EVERY_MS = 20

/**
 * Measures how long after a FIT file of two hours is in the drop folder, or given to the page, its contents are rows, and how
 * long until its upload is accepted.
 */
export async function benchDrop(release: ReleaseStack): Promise<Row[]> {
  const bench = await openSandboxBench(release)
  const drop = join(bench.folder, 'drop')
  await mkdir(drop)
  const daemon = startNode([distPath('main.js'), 'start'], {
    env: { ...bench.env, MUSETTE_DROP_DIR: drop },
  })
  release.defer('daemon', () => daemon.kill())
  const { url } = JSON.parse(await daemon.waitForLine(/"msg":"started"/)) as { url: string }
  const { token } = (await (await fetch(`${url}/api/drop`)).json()) as { token: string }

  const waitFor = async (query: string, count: number) => {
    for (;;) {
      const { rows } = await bench.client.query(`select count(*)::int as n from training.${query}`)
      if (rows[0].n >= count) return performance.now()
      await pause(LOOK_EVERY_MS)
    }
  }
  const put = async (name: string, bytes: Uint8Array) => {
    await writeFile(join(bench.folder, name), bytes)
    await rename(join(bench.folder, name), join(drop, name))
  }
  const send = async (name: string, bytes: Uint8Array) => {
    const answer = await fetch(`${url}/api/drop?account=default&name=${name}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/octet-stream',
        'sec-fetch-site': 'same-origin',
        'x-musette-page': token,
      },
      body: bytes,
    })
    if (!answer.ok) throw new Error(`the page answered ${answer.status} ${await answer.text()}`)
  }

  const rows: Row[] = []
  let made = 0
  for (const [way, give] of [
    ['the folder', put],
    ['the page', send],
  ] as const) {
    const read: number[] = []
    const accepted: number[] = []
    for (let file = 0; file < FILES; file++) {
      made++
      const bytes = makeFitFile({
        startedAt: new Date(Date.now() - made * DAY_MS),
        seconds: SECONDS,
        seed: made,
      })
      const from = performance.now()
      await give(`ride-${made}.fit`, bytes)
      read.push((await waitFor('fit_files', made)) - from)
      const done = `uploads where state in ('accepted', 'mirrored', 'duplicate')`
      accepted.push((await waitFor(done, made)) - from)
    }
    rows.push(
      [`from a file in ${way} to its contents as rows, ${FILES} files, p95`, seconds(read), '2 s'],
      [`from a file in ${way} to its upload accepted, p95`, seconds(accepted)],
    )
  }
  return rows
}

function seconds(ms: readonly number[]): string {
  return `${(quantile(ms, 0.95) / 1_000).toFixed(2)} s`
}
