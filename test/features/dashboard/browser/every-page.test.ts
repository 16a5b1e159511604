import { expect, it } from 'vitest'
import { syncAccount, syncTraining } from '../../../../src/program/app/sync-account.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { sample } from '../../../kit/sampling.ts'
import { listViolations } from './axe.ts'
import { LIST_FAULTS, SETTLED, WATCH } from './layout.ts'
import { type Scene, useScene } from './scene.ts'

const WIDTHS = [320, 390, 560, 700, 768, 820, 992, 1_144, 1_400]
/** Minimum width of a window whose tables show all columns, px. */
const LEAST_WIDE = 1_130
const HEIGHT = 900
/** Each page is loaded in these windows, which shows layout shifts; in the other windows it is only redrawn. */
const LOADED = [
  { width: 390, colorScheme: 'light' },
  { width: 1_400, colorScheme: 'dark' },
] as const
const MAX_SHIFT = 0.1
const LONG = 'Zweihundertkilometerrundfahrt'.repeat(9)

/** States of a mirror; statements or steps make each state from the one before. */
const KINDS: ReadonlyArray<[name: string, ...make: Array<string | ((scene: Scene) => unknown)>]> = [
  ['nothing mirrored yet'],
  [
    'three activities',
    ({ app }) => syncAccount(app, { name: 'default' }),
    ({ app, account }) => syncTraining(app, { account }),
  ],
  [
    '150 activities',
    `insert into training.activities (account_id, path, name, activity_type, started_at, started_at_local, detail_state,
       elapsed_s, distance, avg_power, xss, breakthrough, listed_at, wanted_at)
     select account_id, 'copy' || n, 'Round the lake ' || n, case when n % 5 = 0 then 'Running' else 'Cycling' end,
       now() - n * interval '9 days', now() - n * interval '9 days', 'mirrored', n * 100, n, 200, n, n % 2, now(), now()
     from training.accounts, generate_series(1, 147) n`,
  ],
  [
    'long names, large numbers and problems of every kind',
    `update training.activities set name = '${LONG}', activity_type = 'Cross-country skiing', description = '${LONG}',
       distance = 12345.6, elapsed_s = 359999, xss = 98765, avg_power = 12345`,
    `update training.activities set detail_state = 'failed', fetch_error = 'an answer without a path; ${LONG}'
     where path in ('copy3', 'copy4')`,
    `update training.activities set name = U&'\\2800 \\200B' where path in ('copy1', 'copy2') or path not like 'copy%'`,
    `insert into training.uploads (account_id, content_id, file_name, size_bytes, state, reason, seen_at)
     select account_id, state, '${LONG}' || state || '.fit', 1, state, case when state = 'refused' then '${LONG}' end, now()
     from training.accounts, unnest(array['refused', 'mirrored', 'unconfirmed', 'duplicate']) state`,
  ],
  [
    'two accounts',
    `insert into training.accounts (name, base_url) select 'a second account with quite a long name', base_url from training.accounts`,
  ],
  [
    'a history that is being fetched',
    `update training.activities set detail_state = 'wanted' where path like 'copy1%'`,
  ],
  [
    'a login that is lost',
    `update training.accounts set needs_login = true, last_error = 'the refresh token was rejected'`,
  ],
  ['a database that is away', ({ line }) => line.become('cut')],
]

describeWithBrowser('every page, as wide as its window', () => {
  const scene = useScene({ activities: 3 })

  it.each(KINDS)(
    'clips no text, does not shift while loading and breaks no axe rule with %s',
    async (kind, ...make) => {
      for (const step of make) await (typeof step === 'string' ? scene.rows(step) : step(scene))
      const page = await scene.visit('/nowhere', { viewport: { width: 390, height: HEIGHT }, pauses: true })
      scene.takeComplaints()
      await page.addInitScript(WATCH)
      const id = await scene.activityId(`path not like 'copy%'`)
      const paths = [
        '/',
        '/activities',
        '/fitness',
        '/map',
        '/totals',
        '/runs',
        ...(id ? [`/activities/${id}`] : []),
      ]
      const faults: string[] = []
      for (const path of sample(paths, 2)) {
        const add = (width: number, found: readonly string[]) =>
          faults.push(...found.map((fault) => `${path} ${width}: ${fault}`))
        for (const { width, colorScheme } of sample(LOADED, 1)) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize({ width, height: HEIGHT })
          await page.goto(`${scene.url}${path}`)
          await page.evaluate(SETTLED)
          const shift = Number(await page.evaluate('layoutShift()'))
          if (shift > MAX_SHIFT) add(width, [`jumps by ${shift.toFixed(2)}`])
          await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
          add(width, await listViolations(page))
        }
        for (const width of [...sample(WIDTHS, 3), LEAST_WIDE]) {
          await page.setViewportSize({ width, height: HEIGHT })
          add(width, (await page.evaluate(LIST_FAULTS)) as string[])
        }
      }
      expect(faults).toEqual([])
      // While the database is down, a page has only its frame and the notice.
      const isAway = kind === KINDS.at(-1)?.[0]
      expect(scene.takeComplaints().filter((text) => !isAway || !text.includes('503'))).toEqual([])
    },
  )
})
