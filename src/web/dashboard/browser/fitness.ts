import type { FitnessView } from '../fitness-views.ts'
import type { Told } from '../views.ts'
import { announceScheme } from './charts/theme.ts'
import { find, make, makePlace } from './dom.ts'
import { makeAccountChoice } from './fitness/accounts.ts'
import { makeBest } from './fitness/best.ts'
import { makeLoad } from './fitness/load.ts'
import { makeNow } from './fitness/now.ts'
import { makeSignature } from './fitness/signature.ts'
import { makeSpans } from './fitness/spans.ts'
import { makeWeeks } from './fitness/weeks.ts'
import { follow } from './follow.ts'

type View = Told<FitnessView>

/** Fitness moves with the rides, not with the seconds. */
const ASK_EVERY_MS = 15_000

const asked = new URLSearchParams(location.search).get('account')
const query = asked !== null && /^\d{1,9}$/.test(asked) ? `?account=${asked}` : ''
const spans = makeSpans()
const places = {
  accounts: make('div'),
  now: make('div'),
  signature: make('div'),
  load: make('div'),
  weeks: make('div'),
  best: make('div'),
}
const draw = {
  accounts: makePlace(places.accounts, makeAccountChoice),
  now: makePlace(places.now, makeNow),
  signature: makePlace(places.signature, (shown: View['signature']) => makeSignature(shown, spans)),
  load: makePlace(places.load, (shown: View['load']) => makeLoad(shown, spans)),
  weeks: makePlace(places.weeks, (shown: View['weeks']) => makeWeeks(shown, spans)),
  best: makePlace(places.best, makeBest),
}

announceScheme()
await follow<View>(`/api/fitness${query}`, {
  everyMs: ASK_EVERY_MS,
  onData(view) {
    if (!places.now.isConnected) {
      const { accounts, now, ...charts } = places
      find('#main').replaceChildren(
        make('h1', {}, 'Fitness'),
        accounts,
        now,
        spans.element,
        ...Object.values(charts),
      )
    }
    spans.element.hidden = view.signature.at.length === 0
    draw.accounts(view)
    draw.now(view)
    draw.signature(view.signature)
    draw.load(view.load)
    draw.weeks(view.weeks)
    draw.best(view.best)
  },
})
