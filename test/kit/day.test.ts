import { describe, expect, it } from 'vitest'
import { parseDay } from '../../src/kit/time.ts'
import { readSettings } from './config.ts'
import { distPath, runNode } from './processes.ts'

const NO_DAYS = ['2024-02-31', '2023-02-29', '2024-04-31', '2024-13-01', '2024-00-10', '2024-1-1', '', 'soon']

describe('a day that a person types', () => {
  it('is accepted when the calendar has it', () => {
    expect(parseDay('2024-02-29')).toEqual(new Date('2024-02-29T00:00:00Z'))
    expect(parseDay('2000-12-31')).toEqual(new Date('2000-12-31T00:00:00Z'))
  })

  it.each(NO_DAYS)('is refused as "%s"', (text) => {
    expect(parseDay(text)).toBeUndefined()
  })

  it('is refused in MUSETTE_HISTORY_START when the calendar does not have it', () => {
    const { problems } = readSettings({ MUSETTE_HISTORY_START: '2024-02-31' })
    expect(problems).toMatchObject([{ name: 'MUSETTE_HISTORY_START' }])
  })

  it('is refused by resync with exit code 2 when the calendar does not have it', async () => {
    const { code, stderr } = await runNode([distPath('main.js'), 'resync', '--since', '2024-02-31'])
    expect(stderr).toContain(
      '"2024-02-31" is not a day of the calendar; write for example --since 2024-01-31',
    )
    expect(code).toBe(2)
  })
})
