import { expect, inject, it, onTestFinished } from 'vitest'
import { queryOnce } from '../../kit/postgres.ts'
import { distPath, startNode } from '../../kit/processes.ts'
import { openTempDir } from '../../kit/temp-dir.ts'
import { runVerb } from '../../kit/verbs.ts'
import { openLogin, typeVerb } from '../../program/doctor/rig.ts'
import { ROWS } from './rows.ts'

it('the suggested command creates the login that the owner may not create', async () => {
  const folder = await openTempDir('remedy')
  onTestFinished(() => folder.close())
  const { env, name } = await openLogin(folder.path, true)
  expect(await runVerb(['migrate'], { env, cwd: folder.path })).toMatchObject({ code: 0 })
  const [{ input: initialize = '' } = {}] = ROWS.prints?.('') ?? []
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call' }
  const ask = async (more: Record<string, string> = {}): Promise<{ isError?: boolean; text: string }> => {
    const assistant = startNode([distPath('main.js'), 'mcp'], { env: { ...env, ...more }, typed: true })
    assistant.type(initialize)
    assistant.type(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    assistant.type(
      JSON.stringify({
        ...call,
        params: { name: 'run_query', arguments: { sql: 'select current_user::text' } },
      }),
    )
    const { result } = JSON.parse(await assistant.waitForLine(/"id":2/))
    await assistant.kill()
    return { isError: result.isError, text: result.content[0].text }
  }
  const refused = await ask()
  expect(refused.isError).toBe(true)
  const administrator = new URL(inject('postgresUrl'))
  administrator.pathname = `/${name}`
  const asked = { env: { DATABASE_URL: administrator.href } }
  const { stdout } = await typeVerb('musette reader', refused.text, asked)
  onTestFinished(async () => void (await queryOnce(inject('postgresUrl'), 'DROP ROLE assistant')))
  onTestFinished(async () => void (await queryOnce(administrator.href, 'DROP OWNED BY assistant')))
  const answer = await ask({ MUSETTE_READER_URL: stdout.trim() })
  expect([answer.isError, answer.text]).toEqual([undefined, expect.stringContaining('assistant')])
})
