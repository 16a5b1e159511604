import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { FROM_FILE, VARIABLES } from '../../src/config/variables.ts'
import { ConfigError } from '../../src/kit/errors.ts'
import { readOrMakeSecretKey } from '../../src/store/vault/key-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'musette-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

function complaintOf(env: Record<string, string>): string {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('the configuration was taken')
}

describe('the configuration', () => {
  it('has a default for everything but the service', () => {
    const config = readConfig({})
    expect(config).toMatchObject({
      service: { baseUrl: undefined, clientId: 'service_public', concurrency: 4, requestsPerMinute: 240 },
      databaseUrl: undefined,
      redisUrl: undefined,
      drop: { afterUpload: 'move', polling: false },
      export: { dir: undefined, everyMs: 3_600_000 },
      mirror: { pollEveryMs: 900_000, reconcileEveryMs: 86_400_000, lagMs: 3_600_000, keepRaw: true },
      http: { host: '127.0.0.1', port: 8787 },
      logLevel: 'info',
    })
    expect(config.mirror.historyStart.toISOString()).toBe('2000-01-01T00:00:00.000Z')
  })

  it('names every wrong variable at once, and no value', () => {
    const complaint = complaintOf({
      MUSETTE_BASE_URL: 'ftp://secret-host',
      DATABASE_URL: 'mysql://user:hunter2@host/db',
      MUSETTE_POLL_EVERY: 'often',
      MUSETTE_CONCURRENCY: '0',
      MUSETTE_SECRET_KEY: 'dG9vIHNob3J0',
      MUSETTE_AFTER_UPLOAD: 'delete',
      MUSETTE_HISTORY_START: '2015-02-31x',
      MUSETTE_HTTP: 'everywhere',
    })
    for (const name of ['MUSETTE_BASE_URL', 'DATABASE_URL', 'MUSETTE_POLL_EVERY', 'MUSETTE_CONCURRENCY']) {
      expect(complaint).toContain(name)
    }
    for (const name of [
      'MUSETTE_SECRET_KEY',
      'MUSETTE_AFTER_UPLOAD',
      'MUSETTE_HISTORY_START',
      'MUSETTE_HTTP',
    ]) {
      expect(complaint).toContain(name)
    }
    expect(complaint).not.toMatch(/hunter2|secret-host|dG9v/)
  })

  it('reads secrets and URLs from files', () => {
    const file = join(folder, 'database-url')
    writeFileSync(file, 'postgres://u:p@h/db\n')
    expect(readConfig({ DATABASE_URL_FILE: file }).databaseUrl).toBe('postgres://u:p@h/db')
    expect(complaintOf({ DATABASE_URL_FILE: file, DATABASE_URL: 'postgres://h/db' })).toContain(
      'DATABASE_URL_FILE',
    )
    expect(complaintOf({ REDIS_URL_FILE: join(folder, 'missing') })).toContain('REDIS_URL_FILE')
  })

  it('takes an empty variable for one that is not set, as compose files make them', () => {
    expect(readConfig({ REDIS_URL: '', MUSETTE_POLL_EVERY: '' }).mirror.pollEveryMs).toBe(900_000)
  })

  it('cannot be changed afterwards', () => {
    const config = readConfig({})
    expect(() => Object.assign(config.mirror, { lagMs: 0 })).toThrow(TypeError)
  })

  it('is listed completely in config/example.env', () => {
    const example = readFileSync(new URL('../../config/example.env', import.meta.url), 'utf8')
    const names = [...Object.keys(VARIABLES), ...FROM_FILE.map((name) => `${name}_FILE`)]
    expect(names.filter((name) => !new RegExp(`^#? ?${name}=`, 'm').test(example))).toEqual([])
  })
})

describe('the key file', () => {
  it('is made once, for the owner alone, and read again', () => {
    const dataDir = join(folder, 'data')
    const key = readOrMakeSecretKey(dataDir)
    expect(key).toHaveLength(32)
    expect(readOrMakeSecretKey(dataDir)).toEqual(key)
    expect(statSync(join(dataDir, 'secret.key')).mode & 0o777).toBe(0o600)
  })

  it('is refused when it is damaged, and left as it is', () => {
    const dataDir = join(folder, 'damaged')
    readOrMakeSecretKey(dataDir)
    writeFileSync(join(dataDir, 'secret.key'), 'half a k')
    expect(() => readOrMakeSecretKey(dataDir)).toThrow(ConfigError)
    expect(readFileSync(join(dataDir, 'secret.key'), 'utf8')).toBe('half a k')
  })
})
