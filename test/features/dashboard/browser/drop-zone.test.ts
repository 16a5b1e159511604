import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeFitFile } from '../../../../src/sandbox/fit-file.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { eventually } from '../../../kit/eventually.ts'
import { useScene } from './scene.ts'

const HOUR_MS = 3_600_000
const MIB = 1_024 * 1_024

describeWithBrowser('the drop zone', () => {
  const scene = useScene({ activities: 3, roles: 'scheduler,worker,watcher,web' })
  let files: string
  let drop: string
  beforeAll(async () => {
    files = await mkdtemp(join(tmpdir(), 'musette-picked-'))
    drop = join(scene.dataDir, 'drop')
  })
  afterAll(() => rm(files, { recursive: true, force: true }))

  const makeFit = (hoursAgo: number) =>
    makeFitFile({ startedAt: new Date(Date.now() - hoursAgo * HOUR_MS), seconds: 600 })
  const HEADERS = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/octet-stream' }
  const send = async (
    name: string,
    body: Uint8Array,
    more: Record<string, string> = {},
    account = 'default',
  ) =>
    fetch(`${scene.url}/api/drop?account=${account}&name=${encodeURIComponent(name)}`, {
      method: 'POST',
      headers: { ...HEADERS, ...more },
      body,
    })
  /** sends the head of a request; the test sends the rest */
  const begin = async (name: string, more: string) => {
    const { hostname, port, host } = new URL(scene.url)
    const socket = connect(Number(port), hostname)
    const headers = Object.entries({ host, ...HEADERS }).map((pair) => pair.join(': '))
    const head = [`POST /api/drop?account=default&name=${name} HTTP/1.1`, ...headers, more, '', '']
    socket.write(head.join('\r\n'))
    return socket
  }
  const uploaded = (name: string) =>
    eventually(async () => {
      const rows = await scene.rows(`select state from training.uploads where file_name like $1`, [name])
      return rows[0]?.state === 'mirrored'
    })
  /** lists everything in the drop folder except done and failed files and the ownership file */
  const listLeft = async () => {
    const names = await readdir(drop, { recursive: true })
    return names.filter((name) => !/^(?:done|failed|\.arriving$|\.musette-database\.json$)/.test(name))
  }

  it('shows the first history, and follows files to their result without a reload', async () => {
    const page = await scene.visit('/')
    await page.evaluate('window.sameDocument = true')
    const activities = page.getByRole('region', { name: 'Recent activities' })
    await activities.getByRole('rowheader').nth(2).waitFor({ timeout: 30_000 })
    await mkdir(drop, { recursive: true })
    await writeFile(join(drop, 'shopping.fit'), 'a list of bread')
    await writeFile(join(files, '#1 lunch.fit'), makeFit(5))
    await writeFile(join(files, 'notes.txt'), 'x')
    const picked = ['#1 lunch.fit', 'notes.txt'].map((name) => join(files, name))
    await page.getByLabel('Choose files').setInputFiles(picked)
    const line = (name: string) => page.locator('.dropped > li', { hasText: name })
    expect(await line('notes.txt').textContent()).toMatch(/only .fit, .fit.gz and .zip files/)
    await line('#1 lunch.fit').getByText('mirrored').waitFor({ timeout: 60_000 })
    const uploads = page.getByRole('region', { name: 'Uploads' })
    const [lunch, shopping] = [/^#1 lunch\.fit/, /^shopping\.fit/].map((name) =>
      uploads.getByRole('row', { name }),
    )
    await lunch?.getByText('mirrored').waitFor({ timeout: 45_000 })
    await shopping?.getByText('refused').waitFor({ timeout: 30_000 })
    expect(await shopping?.textContent()).toContain('FIT header')
    expect(await page.evaluate('window.sameDocument')).toBe(true)
    await line('#1 lunch.fit').getByRole('link').click()
    const stage = page.getByRole('application', { name: /^The activity over time/ })
    await stage.locator('canvas').first().waitFor()
    await page.getByText('Uploaded from the file #1 lunch.fit').waitFor()
    expect(scene.takeComplaints()).toEqual([])
    expect(await listLeft()).toEqual([])
  })

  it('accepts a file dropped on another page, and reports a known file as duplicate', async () => {
    const bytes = [...(await readFile(join(files, '#1 lunch.fit')))]
    const page = await scene.visit('/runs')
    await page.evaluate(`{
      const files = new DataTransfer()
      files.items.add(new File([new Uint8Array(${JSON.stringify(bytes)})], 'again.fit'))
      document.dispatchEvent(new DragEvent('drop', { dataTransfer: files, cancelable: true, bubbles: true }))
    }`)
    await page.locator('.dropped > li', { hasText: 'again.fit' }).getByText('duplicate').waitFor()
    await eventually(async () => (await listLeft()).length === 0)
  })

  it('asks for the account of files dropped on another page if there are several', async () => {
    await scene.rows(
      `insert into training.accounts (name, base_url) select 'second', base_url from training.accounts`,
    )
    const page = await scene.visit('/runs')
    for (const name of ['one.fit', 'two.fit'])
      await page.evaluate(`{
        const files = new DataTransfer()
        files.items.add(new File(['no FIT file'], '${name}'))
        document.dispatchEvent(new DragEvent('drop', { dataTransfer: files, cancelable: true, bubbles: true }))
      }`)
    await page.getByText('Choose the account: one.fit, two.fit wait for your choice.').waitFor()
    expect(await listLeft()).toEqual([])
    await page.getByLabel('for account').selectOption('default')
    for (const name of ['one.fit', 'two.fit'])
      await page.locator('.dropped > li', { hasText: name }).getByText('refused').waitFor()
    await page.getByText('Choose the account').waitFor({ state: 'detached' })
    await scene.rows(`delete from training.accounts where name = 'second'`)
    scene.takeComplaints()
  })

  it('has the file on disk before it reports the file as accepted', async () => {
    await scene.rows(`update training.accounts set needs_login = true`)
    const bytes = makeFit(9)
    const answer = await send('evening.fit', bytes)
    expect(answer.status).toBe(202)
    await scene.daemon.kill('SIGKILL')
    const kept = (await listLeft()).filter((name) => name.endsWith('evening.fit'))
    expect(kept.length).toBe(1)
    expect((await readFile(join(drop, kept[0] ?? ''))).equals(bytes)).toBe(true)
    await scene.rows(`update training.accounts set needs_login = false`)
    await scene.restart()
    await uploaded('evening.fit')
  })

  it('accepts no file from another site or port', async () => {
    const foreign = ['cross-site', 'same-site', 'none'].map((site) => ({ 'sec-fetch-site': site }))
    const answers = await Promise.all(foreign.map((headers) => send('a.fit', makeFit(2), headers)))
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403])
    expect(await listLeft()).toEqual([])
  })

  it('refuses more than 200 MiB, even if the sender does not state the size', async () => {
    const socket = await begin('big.zip', 'transfer-encoding: chunked')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => undefined)
    const chunk = Buffer.concat([
      Buffer.from(`${MIB.toString(16)}\r\n`),
      Buffer.alloc(MIB),
      Buffer.from('\r\n'),
    ])
    let left = 201
    const more = () => {
      while (left-- > 0) if (!socket.write(chunk)) return void socket.once('drain', more)
    }
    more()
    await once(socket, 'close')
    expect(text).toMatch(/^HTTP\/1.1 413/)
    await eventually(async () => (await listLeft()).length === 0)
  })

  it('deletes a partial file after a lost connection, and uploads nothing of it', async () => {
    const bytes = makeFit(3)
    const socket = await begin('cut.fit', `content-length: ${bytes.length}`)
    socket.write(bytes.subarray(0, bytes.length / 2))
    await eventually(async () => (await listLeft()).length === 1)
    socket.destroy()
    await eventually(async () => (await listLeft()).length === 0)
    expect(await scene.rows(`select from training.uploads where file_name = 'cut.fit'`)).toEqual([])
  })

  it('refuses an unknown account, and writes only in its folder, whatever the file name', async () => {
    const unknown = await send('a.fit', makeFit(4), {}, 'nobody')
    expect(unknown.status).toBe(409)
    expect(await unknown.json()).toMatchObject({ error: expect.stringContaining('musette login nobody') })
    expect((await send('outside\u0000.FIT', makeFit(30))).status).toBe(400)
    const answer = await send('../../../~.outside\u0001.FIT', makeFit(30))
    expect(answer.status).toBe(202)
    expect(await answer.json()).toMatchObject({ fileName: expect.stringMatching(/^[^/]*outside\.fit$/) })
    await uploaded('%outside%')
  })
})
