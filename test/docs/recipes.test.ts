import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeRequest } from '../../src/features/webhooks/message-request.ts'
import { webhooksSettings } from '../../src/features/webhooks/settings.ts'
import { readTop } from '../container/dockerfile.ts'
import { makeAccount, openTestStore, rowsOf } from '../core/store/open.ts'
import { makeWebhook, SECRET } from '../features/webhooks/receiver.ts'
import { readConfig } from '../kit/config.ts'
import { eventually } from '../kit/eventually.ts'
import { openForTest } from '../kit/open-for.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const page = readTop('docs/recipes.md')
const SECRET_TEXT = `whsec_${SECRET.toString('base64')}`
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, text = '']) => text)

describe('docs/recipes.md', () => {
  it('has valid webhook files', async () => {
    const folder = await openForTest(openTempDir('recipes'))
    const path = join(folder.path, 'webhooks.json')
    const files = blocksOf('json')
    expect(files).toHaveLength(3)
    for (const text of files) {
      await writeFile(path, text.replace('whsec_…', SECRET_TEXT).replace('tk_…', 'tk_1'))
      const file = webhooksSettings.of(readConfig({ MUSETTE_WEBHOOKS: path }))
      expect(file).toMatchObject({ webhooks: [{ name: expect.any(String) }] })
    }
  })

  it('has a function that accepts only messages signed by musette', async () => {
    const [code = ''] = blocksOf('js')
    const { isFromMusette } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
    const message = { id: 'one', event: 'test', at: new Date(), data: { title: 't', text: 'é' } } as const
    const { headers = {}, body } = makeRequest(makeWebhook('http://127.0.0.1:9'), message, new Date())
    const secret = SECRET_TEXT
    expect(isFromMusette(headers, body, secret)).toBe(true)
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    for (const forged of [
      [headers, `${body} `, secret],
      [{ ...headers, 'webhook-id': 'two' }, body, secret],
      [headers, body, other],
      [{}, body, secret],
    ])
      expect(isFromMusette(...forged)).toBe(false)
  })

  it('has a model for dbt that reads each change once, from run to run', async () => {
    const { store } = await openTestStore()
    const accountId = await makeAccount(store)
    const [model = ''] = blocksOf('sql')
    // As dbt writes it: the setting goes, and the condition counts from the second run on.
    const [, before = '', condition = ''] =
      /\{\{ config\(.*?\) \}\}([\s\S]*?)\{% if is_incremental\(\) %\}([\s\S]*?)\{% endif %\}/.exec(model) ??
      []
    const run = (text: string, values: unknown[] = []) =>
      store.transaction((tx) => tx.client.query(text.replace('{{ this }}', 'public.model'), values))
    const change = (path: string) =>
      run(`insert into training.changes (account_id, kind, path) values ($1, 'activity.new', $2)`, [
        ...[accountId, path],
      ])
    const pathsOf = async () =>
      (await rowsOf(store, 'select path from public.model where path is not null order by change_id')).map(
        ({ path }) => path,
      )
    const readNew = () => run(`insert into public.model ${before} ${condition}`)
    // A change is read when no transaction of the whole server, other tests' too, is older than it.
    const expectRead = async (paths: string[]) => {
      await eventually(async () => (await readNew()) && (await pathsOf()).length === paths.length)
      await readNew()
      expect(await pathsOf()).toEqual(paths)
    }
    await change('a')
    await run(`create table public.model as ${before}`)
    await expectRead(['a'])
    await change('b')
    await change('c')
    await expectRead(['a', 'b', 'c'])
  })
})
