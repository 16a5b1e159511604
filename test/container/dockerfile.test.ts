import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { defaultOf } from '../../src/program/config/define-settings.ts'
import { KNOWN } from '../kit/config.ts'
import { copiesOf, parseDockerfile, readTop, type Stage, valuesOf } from './dockerfile.ts'

const stages = parseDockerfile(readTop('Dockerfile'))
const last = stages.at(-1) as Stage
const named = (name: string) => stages.find((stage) => stage.name === name)
const manifest: unknown = JSON.parse(readTop('package.json'))

describe('the Dockerfile', () => {
  it('builds on one image of Node 24, with its tag', () => {
    const outer = stages.map(({ from }) => from).filter((from) => !named(from))
    expect(outer).toEqual(['node:24-bookworm-slim'])
    expect(valuesOf(last, 'LABEL').join()).toContain('base.name="docker.io/library/node:24-bookworm-slim"')
  })

  it('runs as a user that is not root, by number, which every engine understands', () => {
    expect(valuesOf(last, 'USER')).toEqual(['1000:1000'])
    const after = last.instructions.slice(last.instructions.findIndex(({ name }) => name === 'USER') + 1)
    expect(after.map(({ name }) => name)).toEqual([
      'VOLUME',
      'STOPSIGNAL',
      'HEALTHCHECK',
      'ENTRYPOINT',
      'CMD',
    ])
  })

  it('checks the health of the daemon, and stops it with its signal', () => {
    expect(valuesOf(last, 'HEALTHCHECK')).toEqual([expect.stringContaining('CMD ["musette", "healthcheck"]')])
    expect(valuesOf(last, 'STOPSIGNAL')).toEqual(['SIGTERM'])
  })

  it('accepts verbs as typed: docker compose run --rm musette login', () => {
    expect(valuesOf(last, 'ENTRYPOINT')).toEqual(['["musette"]'])
    expect(valuesOf(last, 'CMD')).toEqual(['["start"]'])
    expect(valuesOf(last, 'RUN').join()).toContain('ln -s /app/dist/musette.cjs /usr/local/bin/musette')
    expect(manifest).toHaveProperty('bin.musette', 'dist/musette.cjs')
  })

  it('installs what the lock file says, runs no script of a library, and ships no folder of libraries', async () => {
    const installs = stages.flatMap((stage) => valuesOf(stage, 'RUN')).filter((run) => run.includes('npm '))
    for (const run of installs) expect(run).not.toMatch(/npm (i|install|update)\b/)
    expect(valuesOf(named('build'), 'RUN').join()).toMatch(/npm ci --ignore-scripts/)
    expect(copiesOf(last).filter(({ sources }) => sources.join().includes('node_modules'))).toEqual([])
  })

  it('names the port of the dashboard, for engines that publish named ports', () => {
    expect([`127.0.0.1:${valuesOf(last, 'EXPOSE').join()}`]).toEqual([
      defaultOf(KNOWN.variables.get('MUSETTE_HTTP')),
    ])
  })

  it('labels the image as package.json says, and with the version that the build names', () => {
    const labels = Object.fromEntries(
      [
        ...valuesOf(last, 'LABEL')
          .join(' ')
          .matchAll(/opencontainers\.image\.(\w+)="([^"]*)"/g),
      ].map(([, label = '', value]) => [label, value]),
    )
    expect(manifest).toMatchObject({
      name: labels.title,
      description: labels.description,
      license: labels.licenses,
    })
    expect(labels.version).toBe('$VERSION')
    expect(valuesOf(last, 'ARG')).toEqual(['VERSION=unreleased'])
  })

  it('copies only what is there, and what package.json ships to run it', () => {
    const outer = stages.flatMap(copiesOf).filter(({ stage }) => stage === undefined)
    for (const source of outer.flatMap(({ sources }) => sources))
      expect(existsSync(source), source).toBe(true)
    const shipped = copiesOf(last).flatMap(({ sources }) =>
      sources.map((source) => source.replace('/app/', '')),
    )
    const { files } = manifest as { files: string[] }
    const toRead = (file: string) => /^!|^docs$|\.md$|^config\/(?!example)/.test(file)
    expect(shipped).toEqual(expect.arrayContaining(files.filter((file) => !toRead(file))))
  })
})

describe('the build context', () => {
  const lines = readTop('.dockerignore').split('\n')
  const allowed = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))

  it('begins with nothing, so that no secret of a checkout can reach a layer', () => {
    expect(lines.find((line) => line !== '' && !line.startsWith('#'))).toBe('*')
    expect(lines.filter((line) => line !== '' && !/^[#!]/.test(line))).toEqual(['*'])
  })

  it('holds every file that is copied, or read by the build', () => {
    const root = fileURLToPath(new URL('../../', import.meta.url))
    const sources = stages
      .flatMap(copiesOf)
      .flatMap(({ stage, sources }) => (stage === undefined ? sources : []))
    const isFolder = (source: string) => statSync(root + source).isDirectory()
    const missing = sources.filter(
      (source) =>
        !allowed.includes(source) &&
        !(isFolder(source) && allowed.some((one) => one.startsWith(`${source}/`))),
    )
    expect(missing).toEqual([])
    const bundler = [...readTop('config/bundle.mjs').matchAll(/\$\{root\}(config\/[\w.]+)/g)]
    const read = ['config/setup.mjs', 'config/bundle.mjs', ...bundler.map(([, path]) => path)]
    expect(read).toContain('config/undici.cjs')
    expect(allowed).toEqual(expect.arrayContaining(read))
    for (const path of allowed) expect(existsSync(root + path), path).toBe(true)
  })
})
