import type { ComponentChildren } from 'preact'
import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { Dropped } from '../../../program/app/files/drop-file.ts'
import type { findDroppedContents } from '../pages/today/drop-routes.ts'
import { formatName, formatNumber } from './format.ts'
import { fetchJson, readReason } from './live.tsx'
import { Badge, Link, type Mood, Select } from './parts.tsx'
import { ROOT } from './root.ts'
import type { Sent } from './sent.ts'

type Content = Sent<typeof findDroppedContents>[number]
type Accepted = Extract<Dropped, { accepted: true }>
/** A dropped file and its result. */
type Item = {
  name: string
  account: string
  mood: Mood
  state: string
  reason: string
  contents: readonly Content[]
}

const MAX_BYTES = 200 * 1_024 * 1_024
const DROPPABLE = /\.(?:fit|fit\.gz|zip)$/i
const FOLLOW_EVERY_MS = 2_000
/** The final states. */
const ENDED: readonly string[] = ['mirrored', 'attached', 'duplicate', 'refused']
const MOODS: Readonly<Record<string, Mood>> = {
  mirrored: 'good',
  attached: 'good',
  accepted: 'good',
  duplicate: 'plain',
  refused: 'bad',
}

/**
 * The drop zone: sends files one after the other and shows their results. `first` was dropped before it existed; with several accounts a
 * person selects one and drops it again.
 */
export function DropZone({ accounts, first = [] }: { accounts: readonly string[]; first?: readonly File[] }) {
  const [chosen, setChosen] = useState<string>()
  const account = chosen ?? accounts[0] ?? ''
  const { items, add } = useSending(account)
  const isOver = useDrops(add)
  useEffect(() => (accounts.length === 1 ? add(first) : undefined), [])
  if (accounts.length === 0) return null
  return (
    <section aria-label="Drop zone">
      <div class={isOver ? 'drop-zone over' : 'drop-zone'}>
        <input
          type="file"
          id="drop-files"
          multiple
          accept=".fit,.gz,.zip"
          class="hidden"
          onChange={({ currentTarget }) => {
            add(currentTarget.files ?? [])
            currentTarget.value = ''
          }}
        />
        <label for="drop-files" class="button">
          Choose files
        </label>
        <span class="quiet">or drop .fit, .fit.gz or .zip files here, 200 MiB each at most</span>
        {accounts.length > 1 && (
          <label for="drop-account">
            of account{' '}
            <Select
              id="drop-account"
              value={account}
              options={accounts.map((name) => [name, name] as const)}
              onChoose={setChosen}
            />
          </label>
        )}
      </div>
      <ul class="dropped" aria-live="polite">
        {items.map((item, index) => (
          <ItemLine key={items.length - index} item={item} />
        ))}
      </ul>
    </section>
  )
}

/** Accepts files dropped anywhere on the page, because a file dropped beside the zone would replace the page. */
function useDrops(add: (files: Iterable<File>) => void): boolean {
  const [isOver, setOver] = useState(false)
  const latest = useRef(add)
  latest.current = add
  useEffect(() => {
    const left = new AbortController()
    const listen = (type: 'dragover' | 'dragleave' | 'drop', on: (event: DragEvent) => void) =>
      document.addEventListener(type, on, { signal: left.signal })
    listen('dragover', (event) => {
      event.preventDefault()
      setOver(true)
    })
    listen('dragleave', (event) => event.relatedTarget === null && setOver(false))
    listen('drop', (event) => {
      event.preventDefault()
      setOver(false)
      if (event.dataTransfer) latest.current(event.dataTransfer.files)
    })
    return () => left.abort()
  }, [])
  return isOver
}

/** Sends the added files one after the other, and follows their results. */
function useSending(account: string) {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const { items, waiting, sending } = useRef({
    items: [] as Item[],
    waiting: [] as Array<{ file: File; item: Item }>,
    sending: { now: false },
  }).current
  const change = (item: Item, changes: Partial<Item>) => {
    Object.assign(item, changes)
    redraw(undefined)
  }
  const add = (files: Iterable<File>) => {
    for (const file of files) {
      const item: Item = { name: file.name, account, mood: 'busy', state: 'waits', reason: '', contents: [] }
      items.unshift(item)
      const problem = problemOf(file)
      if (problem) change(item, { mood: 'bad', state: 'refused', reason: problem })
      else waiting.push({ file, item })
    }
    redraw(undefined)
    void sendAll()
  }
  const sendAll = async () => {
    if (sending.now) return
    sending.now = true
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { file, item } = next
      change(item, { state: 'sending' })
      change(item, await send(file, item.account))
      void followContents(item, (contents) => change(item, { contents }))
    }
    sending.now = false
  }
  return { items, add }
}

function problemOf({ name, size }: File): string | undefined {
  if (!DROPPABLE.test(name)) return 'only .fit, .fit.gz and .zip files are uploaded'
  if (size > MAX_BYTES) return 'it is larger than 200 MiB; put it into the drop folder'
  return undefined
}

type SentFile = Pick<Item, 'mood' | 'state' | 'reason' | 'contents'>

const failed = (reason: string, state = 'not sent'): SentFile => ({
  mood: 'bad',
  state,
  reason,
  contents: [],
})
const PAUSE_MS = 5_000
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends a file with the page's token, and with a new token after a restart of the daemon. */
async function send(file: File, account: string): Promise<SentFile> {
  for (let attempt = 0; ; attempt++) {
    const page = await fetchJson<{ token: string; closed: string | null }>('/api/drop')
    if (page.kind !== 'data') return failed('The daemon does not answer; choose the file again later.')
    if (page.data.closed !== null) return failed(page.data.closed)
    try {
      const query = new URLSearchParams({ account, name: file.name })
      const response = await fetch(`${ROOT}/api/drop?${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream', 'x-musette-page': page.data.token },
        body: file,
      })
      if (response.status === 202) {
        const { contents } = (await response.json()) as Accepted
        const reason = 'it is safe in the drop folder'
        return { mood: 'good', state: 'accepted', reason, contents: contents.map(makeUnknown) }
      }
      if ((response.status === 403 || response.status === 429) && attempt < 10) {
        await sleep(PAUSE_MS)
        continue
      }
      return failed(await readReason(response), response.status === 422 ? 'refused' : 'not sent')
    } catch {
      return failed('The connection was cut, and nothing of it was kept; choose the file again.')
    }
  }
}

const makeUnknown = ({ fileName, contentId, isKnown }: Accepted['contents'][number]): Content => ({
  content_id: contentId,
  file_name: fileName,
  state: isKnown ? 'duplicate' : 'accepted',
  reason: isKnown ? 'it was uploaded before' : null,
  activity_id: null,
  activity_name: null,
})

/** The most ids in one address. */
const IDS_AT_ONCE = 50

/** Requests the results of a file's contents until they are final. */
async function followContents(item: Item, onContents: (contents: readonly Content[]) => void): Promise<void> {
  const isOpen = ({ state }: Content) => !ENDED.includes(state)
  while (item.contents.some(isOpen)) {
    await sleep(FOLLOW_EVERY_MS)
    if (document.hidden) continue
    const open = item.contents.filter(isOpen).slice(0, IDS_AT_ONCE)
    const ids = open.map(({ content_id: id }) => id).join(',')
    const query = new URLSearchParams({ account: item.account, ids })
    const answer = await fetchJson<readonly Content[]>(`/api/drop/contents?${query}`)
    if (answer.kind !== 'data') continue
    const known = new Map(answer.data.map((content) => [content.content_id, content]))
    onContents(item.contents.map((content) => ({ ...content, ...known.get(content.content_id) })))
  }
}

function ItemLine({ item: { name, mood, state, reason, contents } }: { item: Item }) {
  const [only] = contents
  if (contents.length === 1 && only)
    return <ContentLine name={<strong>{formatName(name)}</strong>} content={only} />
  const ended = contents.filter((content) => ENDED.includes(content.state)).length
  return (
    <li>
      <strong>{formatName(name)}</strong> <Badge mood={mood}>{state}</Badge>{' '}
      {contents.length > 0
        ? `${formatNumber(ended)} of ${formatNumber(contents.length)} files are through`
        : reason}
      {contents.length > 0 && (
        <ul>
          {contents.map((content) => (
            <ContentLine key={content.content_id} name={formatName(content.file_name)} content={content} />
          ))}
        </ul>
      )}
    </li>
  )
}

function ContentLine({ name, content }: { name: ComponentChildren; content: Content }) {
  const { state, reason, activity_id: id, activity_name: activity } = content
  return (
    <li>
      {name} <Badge mood={MOODS[state] ?? 'busy'}>{state}</Badge>{' '}
      {id !== null && <Link to={`/activities/${id}`}>{activity || 'the activity'}</Link>}{' '}
      {reason ?? (state === 'accepted' && id === null ? 'it is safe in the drop folder' : null)}
    </li>
  )
}
