import type { ActivityLine, Told } from '../../views.ts'
import { ask } from '../ask.ts'
import { make } from '../dom.ts'
import { showState } from '../state.ts'
import { makeTable } from '../table.ts'
import { columnsOf } from './activities.ts'

type Line = Told<ActivityLine>

/**
 * Makes the way to older activities: a button that adds the next ones below. `start` says, whenever the newest are drawn,
 * which is the last of them and so where the older ones begin.
 */
export function makeOlder(): { element: HTMLElement; start(last: Line | undefined, several: boolean): void } {
  const added = make('div')
  const button = make('button', { type: 'button' }, 'Show older')
  const element = make('div', { class: 'older', hidden: true }, added, button)
  let begins: number | undefined
  let after: number | undefined
  let columns = columnsOf(false)

  const add = async () => {
    button.disabled = true
    const answer = await ask<readonly Line[]>(`/api/activities?older_than=${after}`)
    button.disabled = false
    if (answer.kind === 'problem') showState(answer.problem)
    if (answer.kind !== 'data') return
    after = answer.data.at(-1)?.activity_id ?? after
    button.hidden = answer.data.length === 0
    if (answer.data.length > 0) added.append(makeTable('Older activities', columns, answer.data))
    else added.append(make('p', { class: 'quiet' }, 'There are no older ones.'))
  }
  button.addEventListener('click', add)

  return {
    element,
    start(last, several) {
      columns = columnsOf(several)
      element.hidden = last === undefined
      if (last === undefined || last.activity_id === begins) return
      begins = last.activity_id
      after = begins
      button.hidden = false
      const open = added.childElementCount > 0
      // A new activity has pushed one out of the newest: what is open begins anew, so that none is missing between.
      added.replaceChildren()
      if (open) void add()
    },
  }
}
