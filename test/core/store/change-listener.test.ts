import { expect, onTestFinished, test } from 'vitest'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { openChangeListener } from '../../../src/core/store/feed/change-listener.ts'
import { openTestDatabase } from '../../kit/postgres.ts'
import { openLine } from '../../kit/postgres-line.ts'
import { quiet } from './open.ts'

test('a wait for changes ends in time, also after a lost connection and garbage collection', async () => {
  const database = await openTestDatabase()
  onTestFinished(() => database.close())
  const line = await openLine(database.url)
  onTestFinished(() => line.close())
  const listener = openChangeListener(
    { log: quiet },
    { connectionString: line.url, channel: 'musette_changes' },
  )
  onTestFinished(() => listener.close())
  const never = new AbortController()
  await listener.wait(0, never.signal)
  const collecting = setInterval(collectGarbage, 20)
  onTestFinished(() => clearInterval(collecting))
  for (const state of ['good', 'cut'] as const) {
    line.become(state)
    const waited = listener.wait(200, never.signal).then(() => 'ended')
    expect(
      await Promise.race([waited, new Promise((resolve) => setTimeout(resolve, 10_000, 'in vain'))]),
    ).toBe('ended')
  }
})
