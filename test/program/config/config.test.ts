import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { defaultDataDir } from '../../../src/program/config/variables.ts'
import { complaintOf, KNOWN, readConfig, readSettings } from '../../kit/config.ts'

const folder = mkdtempSync(join(tmpdir(), 'musette-config-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the configuration', () => {
  it('cannot be changed, takes an empty variable as one that is not set, and has a folder for an installed package', () => {
    const config = readConfig({})
    expect(() => Object.assign(config.mirror, { lagMs: 0 })).toThrow(TypeError)
    // As compose files need it.
    expect(readConfig({ REDIS_URL: '', MUSETTE_POLL_EVERY: '' }).mirror).toEqual(config.mirror)
    expect(defaultDataDir('/usr/lib/node_modules/musette')).toMatch(/^[/\\].*[/\\]musette\b/)
  })

  it('names every wrong variable at once, and no value', () => {
    const wrong = {
      MUSETTE_BASE_URL: 'ftp://secret-host',
      DATABASE_URL: 'mysql://user:hunter2@host/db',
      MUSETTE_POLL_EVERY: 'often',
      MUSETTE_CONCURRENCY: '0',
      MUSETTE_SECRET_KEY: 'dG9vIHNob3J0',
      MUSETTE_AFTER_UPLOAD: 'delete',
      MUSETTE_HISTORY_START: '2015-02-31x',
      MUSETTE_HTTP: 'everywhere',
    }
    const complaint = complaintOf(wrong)
    for (const name of Object.keys(wrong)) expect(complaint).toContain(name)
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

  it('is listed completely in config/example.env', () => {
    const example = readFileSync(new URL('../../../config/example.env', import.meta.url), 'utf8')
    expect(KNOWN.names.filter((name) => !new RegExp(`^#? ?${name}=`, 'm').test(example))).toEqual([])
  })
})

describe('an address', () => {
  const TILES = 'https://tiles.example.com/{z}/{x}/{y}.png'
  const tiles = (address: string) => ({ MUSETTE_MAP_TILES: address })
  const LOGIN = 'holds a user name or password, which is not sent'
  it.each<[string, Record<string, string>, string]>([
    ['of the service with a password', { MUSETTE_BASE_URL: 'https://:hunter2@host' }, LOGIN],
    ['of a heartbeat with a user', { MUSETTE_HEARTBEAT_URL: 'https://hunter2@host/ping' }, LOGIN],
    ['of tiles with a user', tiles(TILES.replace('tiles', 'hunter2@tiles')), LOGIN],
    [
      'of tiles with a comma in the host',
      tiles(TILES.replace('tiles', 'a,b')),
      'has a host name that browsers block',
    ],
    [
      'of tiles with a ; in the host',
      tiles(TILES.replace('tiles', 'a;b')),
      'has a host name that browsers block',
    ],
    [
      'of tiles at an IPv6 address',
      tiles(TILES.replace('tiles.example.com', '[::1]')),
      'has a host name that browsers block',
    ],
    [
      'of tiles with a part of its own',
      tiles(`${TILES}?{token}`),
      'may contain only the placeholders {z}, {x}',
    ],
    ['of tiles without {y}', tiles(TILES.replace('{y}', '1')), 'is not a URL of map tiles'],
  ])('%s is refused', (_what, env, says) => {
    const complaint = complaintOf(env)
    expect(complaint).toContain(`${Object.keys(env)[0]} ${says}`)
    expect(complaint).not.toContain('hunter2')
  })

  it.each([TILES, TILES.replace('tiles', '{s}.tile'), TILES.replace('{y}', '{y}{r}')])(
    '%s is taken',
    (address) => {
      expect(readSettings(tiles(address)).problems).toEqual([])
    },
  )
})

describe('the file of NODE_EXTRA_CA_CERTS', () => {
  const BEGIN = '-----BEGIN CERTIFICATE-----'
  it.each([
    ['a missing one', undefined, 'names a file that cannot be read'],
    ['an empty one', '', 'names an empty file'],
    [
      'DER',
      Buffer.from([0x30, 0x82, 1, 0]),
      'names a file in DER, and must name one in PEM, as openssl x509',
    ],
    ['a private key', '-----BEGIN PRIVATE KEY-----', 'names a file that holds no whole certificate in PEM'],
    ['a cut certificate', `${BEGIN}\nMIIB`, 'names a file that holds no whole certificate in PEM'],
  ])('is named for what it is: %s', (what, content, says) => {
    const path = join(folder, what)
    if (content !== undefined) writeFileSync(path, content)
    expect(complaintOf({ NODE_EXTRA_CA_CERTS: path })).toContain(`NODE_EXTRA_CA_CERTS ${says}`)
  })
})

it('a variable by which Node accepts any certificate is dropped with a warning', () => {
  const name = 'NODE_TLS_REJECT_UNAUTHORIZED'
  process.env[name] = '0'
  const { warnings } = readSettings(undefined)
  expect(process.env[name]).toBeUndefined()
  expect(warnings).toContainEqual(expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED=0 .* has no effect/))
  expect(readSettings({ [name]: '1' }).warnings).toEqual([])
})

describe('the files of settings', () => {
  const write = (name: string, text: string, mode = 0o600) => {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode })
    return path
  }

  it('are read where the environment sets nothing; the named one is stronger than that of the data directory', () => {
    const dataDir = join(folder, 'with-file')
    write(
      'with-file/musette.env',
      'MUSETTE_LAG=2h\nMUSETTE_CONCURRENCY=7\n# a remark\nMUSETTE_POLL_EVERY="5m"\n',
    )
    const named = write('named.env', `MUSETTE_DATA_DIR=${dataDir}\nMUSETTE_CONCURRENCY=8\nMUSETTE_LAG=\n`)
    const { config, problems, origins } = readSettings({ MUSETTE_POLL_EVERY: '1m' }, named)
    expect(problems).toEqual([])
    expect(config).toMatchObject({ dataDir, envFile: named, service: { concurrency: 8 } })
    expect(config.mirror).toMatchObject({ pollEveryMs: 60_000, lagMs: 7_200_000 })
    expect(origins.get('MUSETTE_POLL_EVERY')?.source).toBe('environment')
    expect(origins.get('MUSETTE_CONCURRENCY')?.source).toBe(named)
    expect(origins.get('MUSETTE_LAG')?.source).toBe(join(dataDir, 'musette.env'))
  })

  it('do not override a stronger place, with or without _FILE', () => {
    const dataDir = join(folder, 'weaker')
    const url = write('weaker-url', 'postgres://u:p@file/db')
    write('weaker/musette.env', `DATABASE_URL_FILE=${url}\n`)
    const env = { MUSETTE_DATA_DIR: dataDir, DATABASE_URL: 'postgres://u:p@environment/db' }
    expect(readSettings(env)).toMatchObject({ problems: [], config: { databaseUrl: env.DATABASE_URL } })
    expect(readConfig({ MUSETTE_DATA_DIR: dataDir }).databaseUrl).toBe('postgres://u:p@file/db')
  })

  it('are refused when they cannot be read, or name another data directory', () => {
    expect(readSettings({}, join(folder, 'none.env')).problems).toMatchObject([{ name: '--settings' }])
    const dataDir = join(folder, 'elsewhere')
    write('elsewhere/musette.env', 'MUSETTE_DATA_DIR=/other\n')
    expect(complaintOf({ MUSETTE_DATA_DIR: dataDir })).toMatch(/MUSETTE_DATA_DIR is set in .*musette\.env/)
    mkdirSync(join(folder, 'folder', 'musette.env'), { recursive: true })
    expect(complaintOf({ MUSETTE_DATA_DIR: join(folder, 'folder') })).toMatch(/which cannot be read/)
  })

  it('are warned of when others can read their secrets', () => {
    const path = write('open.env', 'MUSETTE_HTTP_TOKEN=0123456789abcdef0\n', 0o644)
    chmodSync(path, 0o644)
    expect(readSettings({}, path).warnings).toEqual([
      `others may read ${path}, which holds a secret; run: chmod 600 ${path}`,
    ])
    chmodSync(path, 0o600)
    expect(readSettings({}, path).warnings).toEqual([])
  })
})

const unknown = (name: string, near: string) =>
  `sets ${name}, which is not a setting of musette; did you mean ${near}?`
const LAG = { MUSETTE_LAG: '2h' }
/** The text of a settings file, what it sets, and what the line that sets nothing is told. */
const LINES: ReadonlyArray<
  [text: string | Buffer, sets: Record<string, string>, line?: number, told?: string]
> = [
  [
    '\uFEFFMUSETTE_LAG=2h\r\n\r\n# a remark\r\nexport MUSETTE_SETTLE = 5m \r\n',
    { ...LAG, MUSETTE_SETTLE: '5m' },
  ],
  ['MUSETTE_LAG=2h # a remark\nMUSETTE_DROP_DIR="/a # b" # a remark', { ...LAG, MUSETTE_DROP_DIR: '/a # b' }],
  ["MUSETTE_CLIENT_ID='a#\"b'\nMUSETTE_LAG=2h", { MUSETTE_CLIENT_ID: 'a#"b', ...LAG }],
  ['MUSETTE_CLIENT_SECRET="a\\nb\nc"\nMUSETTE_LAG=2h', { MUSETTE_CLIENT_SECRET: 'a\nb\nc', ...LAG }],
  [Buffer.from('\uFEFFMUSETTE_LAG=2h\n', 'utf16le'), LAG],
  ['hunter2\nMUSETTE_LAG=2h', LAG, 1, 'sets nothing; write NAME=VALUE,'],
  ['DATABASE_URL postgres://u:hunter2@h/d', {}, 1, 'sets nothing; write DATABASE_URL=VALUE,'],
  ['database_url=postgres://u:hunter2@h/d', {}, 1, unknown('database_url', 'DATABASE_URL')],
  [
    'OTHER_PROGRAM=hunter2',
    {},
    1,
    'sets OTHER_PROGRAM, which is not a setting of musette; musette config lists',
  ],
  [
    'MUSETTE_CLIENT_SECRET=hunter#2',
    {},
    1,
    'has a # inside the value of MUSETTE_CLIENT_SECRET; put the value in',
  ],
  [
    'MUSETTE_CLIENT_SECRET="hunter2\nMUSETTE_LAG=2h',
    LAG,
    1,
    'sets nothing; write MUSETTE_CLIENT_SECRET=VALUE, with',
  ],
  [
    'MUSETTE_CLIENT_SECRET="hunter2\nMUSETTE_LAG=2h\nMUSETTE_CLIENT_ID="',
    {},
    1,
    'begins a value of MUSETTE_CLIENT_',
  ],
  ['MUSETTE_LAG=2h\nMUSETTE_LAG=3h', LAG, 2, 'sets MUSETTE_LAG again'],
]

describe('each line of a settings file', () => {
  it.each(LINES)('sets something, or stops the start with its number: %j', (text, sets, line, told) => {
    const dataDir = mkdtempSync(join(folder, 'lines-'))
    const path = join(dataDir, 'musette.env')
    writeFileSync(path, text, { mode: 0o600 })
    const { origins, problems, config } = readSettings({ MUSETTE_DATA_DIR: dataDir })
    const texts = [...origins].map(([variable, { text }]) => [variable, text])
    expect(Object.fromEntries(texts)).toEqual({ ...sets, MUSETTE_DATA_DIR: dataDir })
    const sentences = problems.map(({ name, sentence }) => `${name} ${sentence}`)
    expect(sentences).toEqual(told ? [expect.stringContaining(`${path} line ${line} ${told}`)] : [])
    expect(sentences.join()).not.toContain('hunter')
    expect(config.dataDir).toBe(dataDir)
  })
})

it('an unknown variable is a warning with the nearest name', () => {
  const env = { MUSETTE_SOMETHING_ELSE: '1', database_uri: '1', FTP_PROXY: '1' }
  expect(readSettings(env).warnings).toEqual([
    'MUSETTE_SOMETHING_ELSE (environment) is not a setting of musette; musette config lists all settings',
    'database_uri (environment) is not a setting of musette; did you mean DATABASE_URL?',
  ])
  expect(readSettings({ MUSETTE_HTTP_TOKEN_FILE: '', MUSETTE_GONE: '' }).warnings).toEqual([])
})
