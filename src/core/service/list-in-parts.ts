import { errorCode } from '../../kit/errors.ts'
import { SECOND } from '../../kit/time.ts'
import type { BadItem, Drift } from './wire/lenient.ts'

/** A span of activity starts, with both ends; the service counts in whole seconds. */
export type Window = Readonly<{ from: Date; to: Date }>

type Listed<Entry> = {
  value: { entries: Entry[]; bad: BadItem[]; drift: Drift[] }
  requestedAt: Date
  serviceTime: Date | undefined
}

/**
 * Lists a window by one request, or, if the answer is too large, by a request for each half, and so on. A part of one second whose answer is
 * still too large is added to `unlisted` and reported as an item that cannot be read; what is in there already is not requested again. Without
 * `unlisted` such a part throws the UnexpectedResponseError `too_large`. The halves share a second, whose entries may come twice.
 */
export async function listInParts<Entry>(
  request: (window: Window) => Promise<Listed<Entry>>,
  { window, unlisted, now }: { window: Window; unlisted: Window[] | undefined; now: Date },
): Promise<Listed<Entry>> {
  const answers: Listed<Entry>[] = []
  const open = [window].flatMap((whole) => (unlisted ?? []).reduce(leaveOut, [whole]))
  for (let part = open.pop(); part; part = open.pop()) {
    try {
      answers.push(await request(part))
    } catch (error) {
      if (errorCode(error) !== 'too_large') throw error
      const middle = new Date(Math.floor((part.from.getTime() + part.to.getTime()) / 2 / SECOND) * SECOND)
      if (middle > part.from) open.push({ from: part.from, to: middle }, { from: middle, to: part.to })
      else if (unlisted) unlisted.push(part)
      else throw error
    }
  }
  const bad = joinNeighbours((unlisted ?? []).filter(({ from, to }) => from < window.to && to > window.from))
  return {
    value: {
      entries: answers.flatMap(({ value }) => value.entries),
      bad: [...answers.flatMap(({ value }) => value.bad), ...bad.map(nameWindow)],
      drift: answers.flatMap(({ value }) => value.drift),
    },
    requestedAt: answers[0]?.requestedAt ?? now,
    // By the last answer, because the caller subtracts the time since the first request.
    serviceTime: answers.at(-1)?.serviceTime,
  }
}

function leaveOut(parts: readonly Window[], hole: Window): Window[] {
  return parts.flatMap((part) =>
    hole.to <= part.from || hole.from >= part.to
      ? [part]
      : [
          { from: part.from, to: hole.from },
          { from: hole.to, to: part.to },
        ].filter(({ from, to }) => from < to),
  )
}

/** Joins parts that touch: the second of an entry is the end of one and the beginning of the next. */
function joinNeighbours(parts: readonly Window[]): Window[] {
  const joined: Window[] = []
  for (const part of parts.toSorted((a, b) => a.from.getTime() - b.from.getTime())) {
    const last = joined.at(-1)
    if (last && part.from <= last.to) joined[joined.length - 1] = { from: last.from, to: part.to }
    else joined.push(part)
  }
  return joined
}

function nameWindow({ from, to }: Window): BadItem {
  const [first, last] = [from, to].map((at) => at.toISOString().replace('.000', ''))
  return {
    index: 0,
    named: `start from ${first} to ${last}`,
    reason: 'the list of these seconds is larger than 16 MB',
  }
}
