import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { defaultOf } from '../../src/program/config/define-settings.ts'
import { KNOWN } from '../kit/config.ts'
import { copiesOf, parseDockerfile, readTop, type Stage, valuesOf } from './dockerfile.ts'

const stages = parseDockerfile(readTop('Dockerfile'))
const last = stages.at(-1) as Stage
const named = (name: string) => stages.find((stage) => stage.name === name)
const BASE = 'node:24-bookworm-slim'

describe('the Dockerfile', () => {
  it('builds on one image of Node 24, by what the lock file says, and runs no script of a library', () => {
    expect(stages.map(({ from }) => from).filter((from) => !named(from))).toEqual([BASE])
    const installs = stages.flatMap((stage) => valuesOf(stage, 'RUN')).filter((run) => run.includes('npm '))
    for (const run of installs) expect(run).not.toMatch(/npm (i|install|update)\b/)
    expect(valuesOf(named('build'), 'RUN').join()).toMatch(/npm ci --ignore-scripts/)
    expect(copiesOf(last).filter(({ sources }) => sources.join().includes('node_modules'))).toEqual([])
  })

  it('runs as a user that is not root, by number, and then only says how it is run', () => {
    const at = last.instructions.findIndex(({ name }) => name === 'USER')
    expect(last.instructions.slice(at).map(({ name, value }) => `${name} ${value}`)).toEqual([
      'USER 1000:1000',
      'VOLUME /data',
      'STOPSIGNAL SIGTERM',
      expect.stringMatching(/^HEALTHCHECK .*CMD \["musette", "healthcheck"\]$/),
      'ENTRYPOINT ["musette"]',
      'CMD ["start"]',
    ])
    expect(valuesOf(last, 'RUN').join()).toContain(
      `ln -s /app/${manifest.bin.musette} /usr/local/bin/musette`,
    )
    expect(`127.0.0.1:${valuesOf(last, 'EXPOSE').join()}`).toBe(
      defaultOf(KNOWN.variables.get('MUSETTE_HTTP')),
    )
  })

  it('copies what package.json ships to run it', () => {
    const shipped = copiesOf(last).flatMap(({ sources }) =>
      sources.map((source) => source.replace('/app/', '')),
    )
    const toRead = (file: string) => /^!|^docs$|\.md$|^config\/(?!example)/.test(file)
    expect(shipped).toEqual(expect.arrayContaining(manifest.files.filter((file) => !toRead(file))))
  })
})
