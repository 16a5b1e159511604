import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { listAll, openClient, type TestClient } from './client.ts'

let client: TestClient
let token: string
beforeEach(async () => {
  client = await openClient({ activities: 20 })
  token = await client.signIn()
})
afterEach(() => client.sandbox.close())

type Detail = { summary: { xss: number; sig: { ftp: number } }; session_data: Array<{ mpa: number }> }
const nowSeconds = () => Math.floor(client.clock.now().getTime() / 1_000)
const updatedSince = (seconds: number) => listAll(client, token, `&updated_from=${seconds}`)
const detail = (path: string) =>
  client.get<Detail>(`/oauth/activity/${path}?include_session_data=1`, token).then(({ body }) => body)

async function firstPath(): Promise<string> {
  return (await listAll(client, token))[0]?.path ?? ''
}

describe('the activity list', () => {
  it('refuses a call without from and to, or with text in place of numbers', async () => {
    expect((await client.get('/oauth/activity?from=0', token)).status).toBe(400)
    expect((await client.get('/oauth/activity?from=0&to=soon', token)).status).toBe(400)
  })

  it('filters by start, both ends included', async () => {
    const { body } = await client.steer('POST', 'activities', { started_at: '2020-02-02T10:00:00Z' })
    const start = Date.parse('2020-02-02T10:00:00Z') / 1_000
    const paths = async (from: number, to: number) => {
      const path = `/oauth/activity?from=${from}&to=${to}`
      return (await client.get<{ activities: Array<{ path: string }> }>(path, token)).body.activities
    }
    expect(await paths(start, start)).toEqual([expect.objectContaining({ path: body.path })])
    expect(await paths(start + 1, start + 60)).toEqual([])
    expect(await paths(start - 60, start - 1)).toEqual([])
  })

  it('lists by updated_from activities edited since, including the same second', async () => {
    client.clock.turn(60_000)
    const path = await firstPath()
    expect(await updatedSince(nowSeconds())).toEqual([])
    await client.steer('PATCH', `activities/${path}`, { name: 'Renamed', description: 'é' })
    expect(await updatedSince(nowSeconds())).toEqual([
      expect.objectContaining({ path, name: 'Renamed', description: 'é' }),
    ])
    expect(await updatedSince(nowSeconds() + 1)).toEqual([])
  })

  it('still filters by start while updated_from is given', async () => {
    client.clock.turn(60_000)
    await client.steer('POST', 'activities', { late: true, name: 'Late' })
    expect(await updatedSince(nowSeconds())).toEqual([expect.objectContaining({ name: 'Late' })])
    const recent = `/oauth/activity?from=${nowSeconds() - 86_400}&to=${nowSeconds()}&updated_from=${nowSeconds()}`
    expect((await client.get<{ activities: [] }>(recent, token)).body.activities).toEqual([])
  })

  it('keeps the newest when it is capped', async () => {
    const all = await listAll(client, token)
    await client.steer('PATCH', 'settings', { list_cap: 7 })
    expect(await listAll(client, token)).toEqual(all.slice(0, 7))
  })

  it('leaves out deleted activities, and lists revived ones', async () => {
    const path = await firstPath()
    await client.steer('DELETE', `activities/${path}`)
    expect(await firstPath()).not.toBe(path)
    expect((await client.get(`/oauth/activity/${path}`, token)).status).toBe(404)
    expect((await client.steer('GET', `activities/${path}`)).body.deleted).toBe(true)
    await client.steer('POST', `activities/${path}/revive`)
    expect(await firstPath()).toBe(path)
  })
})

describe('a change of an activity', () => {
  it('to its power changes load and samples', async () => {
    const path = await firstPath()
    const before = await detail(path)
    await client.steer('PATCH', `activities/${path}`, { scale_power: 1.1 })
    const after = await detail(path)
    expect(after.summary.xss).toBeGreaterThan(1.15 * before.summary.xss)
  })

  it('replaces summary and sample fields at any level', async () => {
    const path = await firstPath()
    const patch = { summary: { session: { max_power: null }, brand_new: 'x' }, sample: { gear: 'big' } }
    await client.steer('PATCH', `activities/${path}`, patch)
    const after = await detail(path)
    expect(after.summary).toMatchObject({ session: { max_power: null, avg_power: expect.any(Number) } })
    expect(after.summary).toMatchObject({ brand_new: 'x' })
    expect(after.session_data[0]).toMatchObject({ gear: 'big' })
  })

  it('to the whole history changes every update time, signature, load and available power', async () => {
    client.clock.turn(60_000)
    const path = await firstPath()
    const before = await detail(path)
    const info = await client.get<{ signature: { ftp: number } }>('/oauth/training_info', token)
    await client.steer('POST', 'recalculate')
    expect(await updatedSince(nowSeconds())).toHaveLength(20)
    const after = await detail(path)
    expect(after.summary.sig.ftp).toBeLessThan(before.summary.sig.ftp)
    expect(after.summary.xss).toBeGreaterThan(before.summary.xss)
    expect(after.session_data[9]?.mpa).not.toBe(before.session_data[9]?.mpa)
    const recalculated = await client.get<{ signature: { ftp: number } }>('/oauth/training_info', token)
    expect(recalculated.body.signature.ftp).not.toBe(info.body.signature.ftp)
  })

  it('can damage its answer in each way and repair it', async () => {
    const path = await firstPath()
    const answer = async (broken: string | null) => {
      await client.steer('PATCH', `activities/${path}`, { broken })
      const response = await fetch(`${client.sandbox.url}/oauth/activity/${path}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return `${response.status} ${(await response.text()).slice(0, 17)}`
    }
    const whole = await answer(null)
    expect(whole).toBe('200 {"success":true,"')
    expect(await answer('html')).toBe('200 <!doctype html><h')
    expect(await answer('500')).toBe('500 {"success":false,')
    expect(await answer('success-false')).toBe('200 {"success":false}')
    expect(await answer('no-success')).toMatch(/^200 \{"name":/)
    expect(await answer('cut')).toBe(whole)
    await expect(client.get(`/oauth/activity/${path}`, token)).rejects.toThrow(SyntaxError)
    expect(await answer(null)).toBe(whole)
  })
})
