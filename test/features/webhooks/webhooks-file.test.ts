import { readdirSync, readFileSync } from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { WEBHOOK_EVENTS, webhooksSettings } from '../../../src/features/webhooks/settings.ts'
import { readTop } from '../../container/dockerfile.ts'
import { readSettings } from '../../kit/config.ts'
import { openForAll } from '../../kit/open-for.ts'
import { readWords } from '../../kit/table.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { SECRET, WHSEC } from './receiver.ts'

const HOME = {
  name: 'home',
  style: 'standard',
  url: 'http://192.168.1.5:8123/api/webhook/abc',
  secret: WHSEC,
}
const FIRST_EVENTS =
  readWords(`activity.new breakthrough history.mirrored history.recalculated upload.refused login.lost
  mirror.stale mirror.recovered mirror.restored backup.failed backup.recovered`)

describe('the file of the webhooks', () => {
  const folder = openForAll(() => openTempDir('webhooks-file'))

  const readText = async (text: string, mode = 0o600) => {
    const path = join(folder.path, 'webhooks.json')
    await writeFile(path, text)
    await chmod(path, mode)
    return readSettings({ MUSETTE_WEBHOOKS: path })
  }
  const read = (list: unknown, mode?: number) => readText(JSON.stringify(list), mode)
  const faultsOf = async (list: unknown) => {
    const { problems, config } = await read(list)
    const faults = problems.map(({ sentence }) => sentence)
    expect(webhooksSettings.of(config)).toMatchObject({ webhooks: [], faults })
    for (const { name } of problems) expect(name).toBe('MUSETTE_WEBHOOKS')
    return faults
  }

  it('has receivers of both styles, by default with the events of the first release', async () => {
    const ntfy = { name: 'phone', style: 'ntfy', url: 'https://ntfy.sh/topic', token: 'tk_1' }
    const phone = { ...ntfy, events: ['login.lost'] }
    const { config, problems } = await read([HOME, phone])
    expect(problems).toEqual([])
    const webhooks = [{ ...HOME, secret: SECRET, events: FIRST_EVENTS }, phone]
    expect(webhooksSettings.of(config)).toMatchObject({ webhooks, isReadableByOthers: false })
    const readable = (await read([HOME], 0o644)).config
    expect(webhooksSettings.of(readable)?.isReadableByOthers).toBe(true)
  })

  it('is refused with a list of all faults that quotes no values', async () => {
    const faults = await faultsOf([
      { ...HOME, url: 'ftp://hidden', secret: 'whsec_hidden' },
      { name: 'a b', style: 'ntfy', url: 'https://ntfy.sh/', events: [] },
      { ...HOME, name: 'other', url: 'https://user:hidden@host/', tokens: 'hidden' },
      { ...HOME, style: 'hidden' },
      { ...HOME, events: ['login.lost', 'hidden'] },
    ])
    expect(faults).toEqual([
      expect.stringMatching(/^names a file whose webhook 1, url, is not a URL/),
      expect.stringMatching(/^names a file whose webhook 1, secret, is not whsec_/),
      expect.stringMatching(/^names a file whose webhook 2, name, is not 1 to 40/),
      expect.stringMatching(/^names a file whose webhook 2, url, does not end with the name of a topic/),
      expect.stringMatching(/^names a file whose webhook 2, events, is empty/),
      expect.stringMatching(/^names a file whose webhook 3, url, holds a user name or password/),
      'names a file whose webhook 3 has an unknown member',
      'names a file whose webhook 4, style, is neither standard nor ntfy',
      expect.stringMatching(/^names a file whose webhook 5, events, 1, is not one of activity\.new, /),
    ])
    expect(faults.join()).not.toContain('hidden')
    expect(await faultsOf([HOME, HOME])).toEqual(['names a file whose webhook 2, name, is not unique'])
  })

  it('is refused if it is unreadable or no list in JSON', async () => {
    expect((await readText('[')).problems).toMatchObject([{ sentence: 'names a file that is not JSON' }])
    expect(await faultsOf({ webhooks: [] })).toEqual(['names a file that is not a list of webhooks'])
    expect(readSettings({ MUSETTE_WEBHOOKS: join(folder.path, 'none') }).problems).toMatchObject([
      { sentence: 'names a file that cannot be read' },
    ])
    expect(webhooksSettings.of((await read([])).config)?.webhooks).toEqual([])
  })
})

it('docs/monitoring.md lists exactly the events, and a test receives each', () => {
  const [, section = ''] = /\| event \| is sent \|\n([\s\S]*?)\n\n/.exec(readTop('docs/monitoring.md')) ?? []
  const rows = section.match(/^\| (`.+?) \|/gm) ?? []
  expect(rows.flatMap((row) => row.match(/[\w.]+(?=`)/g) ?? [])).toEqual(WEBHOOK_EVENTS)
  const tests = readdirSync('test/features/webhooks')
    .filter((name) => !name.startsWith('webhooks-file'))
    .map((name) => readFileSync(`test/features/webhooks/${name}`, 'utf8'))
  expect(WEBHOOK_EVENTS.filter((event) => !tests.some((text) => text.includes(`'${event}'`)))).toEqual([])
})
