import type { ComponentChildren } from 'preact'
import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import type { Dropped } from '../../../program/app/files/drop-file.ts'
import type { findDroppedContents } from '../pages/today/write-routes.ts'
import { formatQuery } from './address-query.tsx'
import { formatName, formatNumber } from './format.ts'
import { fetchJson, readReason, send } from './live.tsx'
import { Badge, ENDED, Link, type Mood, Notice, Select } from './parts.tsx'
import type { Sent } from './sent.ts'

type Content = Sent<typeof findDroppedContents>[number]
type Accepted = Extract<Dropped, { accepted: true }>
type Result = { mood: Mood; state: string; reason: string; contents: readonly Content[] }
/** A dropped file and its result. */
type Item = Result & { file: File; account: string }

const MAX_BYTES = 200 * 1_024 * 1_024
const DROPPABLE = /\.(?:fit|fit\.gz|zip)$/i
const FOLLOW_EVERY_MS = 2_000
/** Pause before a file is sent again if the daemon is busy, ms. */
const PAUSE_MS = 5_000
const MAX_ATTEMPTS = 11
/** Maximum number of content ids in a URL. */
const MAX_IDS = 50
const MOODS: Readonly<Record<string, Mood>> = { ...ENDED, accepted: 'good' }

/**
 * The drop zone: sends files one after another and shows their results. `first` has the files that were dropped before the zone existed.
 * With several accounts, files wait until a person chooses an account.
 */
export function DropZone({ accounts, first = [] }: { accounts: readonly string[]; first?: readonly File[] }) {
  const [chosen, setChosen] = useState<string>()
  const account = chosen ?? (accounts.length > 1 ? undefined : accounts[0])
  const [held, setHeld] = useState<readonly File[]>([])
  const { items, sendFiles } = useSending()
  const add = (files: Iterable<File>) =>
    account === undefined ? setHeld([...held, ...files]) : sendFiles(account, files)
  const isOver = useDrops(add)
  useEffect(() => add(first), [])
  const choose = (name: string) => {
    setChosen(name)
    sendFiles(name, held)
    setHeld([])
  }
  if (accounts.length === 0)
    return held.length === 0 ? null : (
      <Notice text="No account to send the files to. Run:" command="musette login" />
    )
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
        <span class="quiet">or drop .fit, .fit.gz or .zip files here, up to 200 MiB each</span>
        {accounts.length > 1 && (
          <label for="drop-account">
            for account{' '}
            <Select
              id="drop-account"
              value={account ?? ''}
              options={[
                ...(account === undefined ? [['', 'choose one'] as const] : []),
                ...accounts.map((name) => [name, name] as const),
              ]}
              onChoose={choose}
            />
          </label>
        )}
      </div>
      {held.length > 0 && (
        <div role="alert">
          <Notice
            text={`Choose the account: ${held.map(({ name }) => formatName(name)).join(', ')} ${held.length === 1 ? 'waits' : 'wait'} for your choice.`}
          />
        </div>
      )}
      <ul class="dropped" aria-live="polite">
        {items.map((item, index) => (
          <ItemLine key={items.length - index} item={item} />
        ))}
      </ul>
    </section>
  )
}

/** Accepts files dropped anywhere on the page, because the browser would open a file that misses the zone. */
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

/** Sends the added files one after another, and follows their results. */
function useSending() {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const { items, sending } = useRef({ items: [] as Item[], sending: { now: false } }).current
  const change = (item: Item, changes: Partial<Result>) => {
    Object.assign(item, changes)
    redraw(undefined)
  }
  const sendFiles = (account: string, files: Iterable<File>) => {
    for (const file of files) {
      const problem = problemOf(file)
      const result =
        problem === undefined ? makeResult('busy', 'waits', '') : makeResult('bad', 'refused', problem)
      items.unshift({ ...result, file, account })
    }
    redraw(undefined)
    void sendAll()
  }
  const sendAll = async () => {
    if (sending.now) return
    sending.now = true
    for (;;) {
      const item = items.findLast(({ state }) => state === 'waits')
      if (!item) break
      change(item, { state: 'sending' })
      change(item, await sendFile(item))
      void followContents(item, (contents) => change(item, { contents }))
    }
    sending.now = false
  }
  return { items, sendFiles }
}

function problemOf({ name, size }: File): string | undefined {
  if (!DROPPABLE.test(name)) return 'only .fit, .fit.gz and .zip files can be uploaded'
  if (size > MAX_BYTES) return 'the file is larger than 200 MiB; put it into the drop folder'
  return undefined
}

function makeResult(mood: Mood, state: string, reason: string, contents: readonly Content[] = []): Result {
  return { mood, state, reason, contents }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends a file; retries while the daemon is busy with other files. */
async function sendFile({ file, account }: Item): Promise<Result> {
  const failed = (reason: string, state = 'not sent') => makeResult('bad', state, reason)
  for (let attempt = 1; ; attempt++) {
    const page = await fetchJson<{ closed: string | null }>('/api/drop')
    if (page.kind !== 'data') return failed('The daemon does not answer; choose the file again later.')
    if (page.data.closed !== null) return failed(page.data.closed)
    const response = await send(`/api/drop${formatQuery({ account, name: file.name })}`, file)
    if (!response) return failed('The connection was lost and nothing was saved; choose the file again.')
    if (response.status === 202) {
      const { contents } = (await response.json()) as Accepted
      return makeResult('good', 'accepted', 'it is safe in the drop folder', contents.map(makeContent))
    }
    if (response.status !== 429 || attempt === MAX_ATTEMPTS)
      return failed(await readReason(response), response.status === 422 ? 'refused' : 'not sent')
    await sleep(PAUSE_MS)
  }
}

const makeContent = ({ fileName, contentId, isKnown }: Accepted['contents'][number]): Content => ({
  ...{ content_id: contentId, file_name: fileName, activity_id: null, activity_name: null },
  ...(isKnown ? { state: 'duplicate', reason: 'already uploaded' } : { state: 'accepted', reason: null }),
})

/** Polls the results of the FIT files in a dropped file until the results are final. */
async function followContents(item: Item, onContents: (contents: readonly Content[]) => void): Promise<void> {
  const isOpen = ({ state }: Content) => !(state in ENDED)
  while (item.contents.some(isOpen)) {
    await sleep(FOLLOW_EVERY_MS)
    if (document.hidden) continue
    const open = item.contents.filter(isOpen).slice(0, MAX_IDS)
    const ids = open.map(({ content_id: id }) => id).join(',')
    const query = formatQuery({ account: item.account, ids })
    const answer = await fetchJson<readonly Content[]>(`/api/drop/contents${query}`)
    if (answer.kind !== 'data') continue
    const known = new Map(answer.data.map((content) => [content.content_id, content]))
    onContents(item.contents.map((content) => ({ ...content, ...known.get(content.content_id) })))
  }
}

function ItemLine({ item: { file, mood, state, reason, contents } }: { item: Item }) {
  const name = <strong>{formatName(file.name)}</strong>
  const [only] = contents
  if (contents.length === 1 && only) return <ContentLine name={name} content={only} />
  const ended = contents.filter(({ state: one }) => one in ENDED).length
  return (
    <li>
      {name} <Badge mood={mood}>{state}</Badge>{' '}
      {contents.length > 0
        ? `${formatNumber(ended)} of ${formatNumber(contents.length)} files are done`
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
