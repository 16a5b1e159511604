import { errorCode } from '../../kit/errors.ts'
import { SECOND } from '../../kit/time.ts'
import type { BadItem, Drift } from './wire/lenient.ts'

/** A span of activity starts, including both ends; the service counts whole seconds. */
export type Window = Readonly<{ from: Date; to: Date }>

type Listed<Entry> = {
  value: { entries: Entry[]; bad: BadItem[]; drift: Drift[] }
  requestedAt: Date
  serviceTime: Date | undefined
}

/**
 * Lists a window with one request or, if the response is too large, with a request for each half, and so on. If the response for one second is
 * still too large, adds that second to `unlisted` and reports it as an unreadable item; seconds already in `unlisted` are not requested again.
 * Without `unlisted`, throws UnexpectedResponseError `too_large`. The halves share a second, whose entries may come twice.
 */
export async function listInParts<Entry>(
  request: (window: Window) => Promise<Listed<Entry>>,
  { window, unlisted, now }: { window: Window; unlisted: Window[] | undefined; now: Date },
): Promise<Listed<Entry>> {
  const answers: Listed<Entry>[] = []
  const open = [window]
  const holesIn = ({ from, to }: Window) => unlisted?.filter((hole) => hole.from < to && hole.to > from) ?? []
  for (let part = open.pop(); part; part = open.pop()) {
    const { from, to } = part
    const [hole] = holesIn(part)
    const split = (older: Date, newer = older) =>
      open.push(
        ...[
          { from, to: older },
          { from: newer, to },
        ].filter((each) => each.from < each.to),
      )
    try {
      if (hole) split(hole.from, hole.to)
      else answers.push(await request(part))
    } catch (error) {
      if (errorCode(error) !== 'too_large') throw error
      const middle = new Date(Math.floor((from.getTime() + to.getTime()) / 2 / SECOND) * SECOND)
      if (middle > from) split(middle)
      else if (!unlisted) throw error
      // An entry's second is the end of one part and the start of the next.
      else if (unlisted.at(-1)?.from.getTime() === to.getTime())
        unlisted.push({ from, to: unlisted.pop()?.to ?? to })
      else unlisted.push(part)
    }
  }
  const names = holesIn(window).map((hole) => `start from ${nameSecond(hole.from)} to ${nameSecond(hole.to)}`)
  const reason = 'the list of these seconds is larger than 16 MB'
  return {
    value: {
      entries: answers.flatMap(({ value }) => value.entries),
      bad: [
        ...answers.flatMap(({ value }) => value.bad),
        ...names.map((named) => ({ index: 0, named, reason })),
      ],
      drift: answers.flatMap(({ value }) => value.drift),
    },
    requestedAt: answers[0]?.requestedAt ?? now,
    // Uses the last response, because the caller subtracts the time since the first request.
    serviceTime: answers.at(-1)?.serviceTime,
  }
}

const nameSecond = (at: Date) => at.toISOString().replace('.000', '')
