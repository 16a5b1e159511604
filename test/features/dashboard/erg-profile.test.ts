import { expect, it } from 'vitest'
import { parseErgProfile } from '../../../src/features/dashboard/pages/today/erg-profile.ts'

const head = '[COURSE HEADER]\r\nMINUTES WATTS\r\n[END COURSE HEADER]\r\n[COURSE DATA]\r\n'

it('the profile of a workout file has a step or a ramp for each part', () => {
  const lines = ['0.00\t100', '10.00\t100', '10.00\t260', '12.83\t260', '12.83\t150', '15.00 200']
  expect(parseErgProfile(`${head}${lines.join('\r\n')}\r\n[END COURSE DATA]\r\n`)).toEqual([
    { from_s: 0, to_s: 600, from_watts: 100, to_watts: 100 },
    { from_s: 600, to_s: 770, from_watts: 260, to_watts: 260 },
    { from_s: 770, to_s: 900, from_watts: 150, to_watts: 200 },
  ])
  for (const text of ['', '<workout_file/>', head, '0 100\n5 100']) expect(parseErgProfile(text)).toEqual([])
  // The parser skips lines that are not pairs of numbers.
  expect(parseErgProfile(`${head}0 100\nNaN 5\n-1 50\n1e9999 7\n1 100`)).toEqual([
    { from_s: 0, to_s: 60, from_watts: 100, to_watts: 100 },
  ])
})
