import type { Dropped, DroppedContent } from '../../../store/dashboard/page-rows.ts'
import type { Serialized } from '../../dashboard/dashboard-types.ts'
import { type Child, type Mood, make, makeBadge, ROOT, refill } from '../dom.ts'
import { formatNumber } from '../format.ts'
import { fetchJson } from '../live.ts'

type Content = Serialized<DroppedContent>
type Accepted = Extract<Dropped, { accepted: true }>
type Item = {
  name: string
  account: string
  mood: Mood
  state: string
  reason: string
  contents: readonly Content[]
}

const MOST_BYTES = 200 * 1_024 * 1_024
const DROPPABLE = /\.(?:fit|fit\.gz|zip)$/i
const FOLLOW_EVERY_MS = 2_000
/** The states that do not change by themselves any more. */
const ENDED: readonly string[] = ['mirrored', 'duplicate', 'refused']
const MOODS: Readonly<Record<string, Mood>> = {
  mirrored: 'good',
  accepted: 'good',
  duplicate: 'plain',
  refused: 'bad',
}

export type DropZone = { element: HTMLElement; setAccounts(names: readonly string[]): void }

/** Makes the place where files are dropped or picked; it sends one after the other, and shows what became of each. */
export function makeDropZone(): DropZone {
  const items: Item[] = []
  const waiting: Array<{ file: File; item: Item }> = []
  const list = make('ul', { class: 'dropped', 'aria-live': 'polite' })
  const show = () => refill(list, ...items.map(makeLine))
  const account = make('select', {})
  const choice = make('label', { hidden: true }, 'of account ', account)
  const input = make('input', {
    type: 'file',
    id: 'drop-files',
    multiple: true,
    accept: '.fit,.gz,.zip',
    class: 'hidden',
  })
  const zone = make(
    'div',
    { class: 'drop-zone' },
    input,
    make('label', { for: 'drop-files', class: 'button' }, 'Choose files'),
    make('span', { class: 'quiet' }, 'or drop .fit, .fit.gz or .zip files here, 200 MiB each at most'),
    choice,
  )
  let sending = false

  const add = (files: Iterable<File>) => {
    for (const file of files) {
      const item: Item = {
        name: file.name,
        account: account.value,
        mood: 'busy',
        state: 'waits',
        reason: '',
        contents: [],
      }
      items.unshift(item)
      const problem = problemOf(file)
      if (problem) Object.assign(item, { mood: 'bad', state: 'refused', reason: problem })
      else waiting.push({ file, item })
    }
    show()
    void sendAll()
  }
  const sendAll = async () => {
    if (sending) return
    sending = true
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      Object.assign(next.item, { state: 'sending' })
      show()
      Object.assign(next.item, await send(next.file, next.item.account))
      show()
      if (next.item.contents.length > 0) void followContents(next.item, show)
    }
    sending = false
  }

  input.addEventListener('change', () => {
    add(input.files ?? [])
    input.value = ''
  })
  // Anywhere on the page: a file dropped beside the zone would replace the page.
  document.addEventListener('dragover', (event) => {
    event.preventDefault()
    zone.classList.add('over')
  })
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) zone.classList.remove('over')
  })
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    zone.classList.remove('over')
    if (event.dataTransfer) add(event.dataTransfer.files)
  })

  const element = make('section', { hidden: true, 'aria-label': 'Drop zone' }, zone, list)
  return {
    element,
    setAccounts(names) {
      element.hidden = names.length === 0
      const shown = [...account.options].map(({ value }) => value)
      if (shown.join('\n') === names.join('\n')) return
      account.replaceChildren(...names.map((name) => make('option', { value: name }, name)))
      choice.hidden = names.length < 2
    },
  }
}

function problemOf({ name, size }: File): string | undefined {
  if (!DROPPABLE.test(name)) return 'only .fit, .fit.gz and .zip files are uploaded'
  if (size > MOST_BYTES) return 'it is larger than 200 MiB; put it into the drop folder'
  return undefined
}

type Sent = Pick<Item, 'mood' | 'state' | 'reason' | 'contents'>

const failed = (reason: string, state = 'not sent'): Sent => ({ mood: 'bad', state, reason, contents: [] })
const PAUSE_MS = 5_000

/** Sends a file with the page's token; another one is fetched when the daemon was restarted. */
async function send(file: File, account: string): Promise<Sent> {
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
        return {
          mood: 'good',
          state: 'accepted',
          reason: 'it is safe in the drop folder',
          contents: contents.map(makeUnknown),
        }
      }
      if ((response.status === 403 || response.status === 429) && attempt < 10) {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
        continue
      }
      const body = (await response.json().catch(() => ({}))) as { error?: string }
      return failed(
        body.error ?? `status ${response.status}`,
        response.status === 422 ? 'refused' : 'not sent',
      )
    } catch {
      return failed('The connection was cut, and nothing of it was kept; choose the file again.')
    }
  }
}

const makeUnknown = ({ fileName, contentId }: Accepted['contents'][number]): Content => ({
  content_id: contentId,
  file_name: fileName,
  state: 'accepted',
  reason: null,
  activity_id: null,
  activity_name: null,
})

/** An address has room for so many ids. */
const IDS_AT_ONCE = 50

async function followContents(item: Item, show: () => void): Promise<void> {
  const isOpen = ({ state }: Content) => !ENDED.includes(state)
  while (item.contents.some(isOpen)) {
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_EVERY_MS))
    if (document.hidden) continue
    const ids = item.contents
      .filter(isOpen)
      .slice(0, IDS_AT_ONCE)
      .map(({ content_id: id }) => id)
    const query = new URLSearchParams({ account: item.account, ids: ids.join(',') })
    const answer = await fetchJson<readonly Content[]>(`/api/drop/contents?${query}`)
    if (answer.kind !== 'data') continue
    const known = new Map(answer.data.map((content) => [content.content_id, content]))
    item.contents = item.contents.map((content) => ({ ...content, ...known.get(content.content_id) }))
    show()
  }
}

function makeLine({ name, mood, state, reason, contents }: Item): HTMLElement {
  const [only] = contents
  if (contents.length === 1 && only) return make('li', {}, make('strong', {}, name), ' ', ...describe(only))
  const ended = contents.filter((content) => ENDED.includes(content.state)).length
  return make(
    'li',
    {},
    make('strong', {}, name),
    ' ',
    makeBadge(state, mood),
    ' ',
    contents.length > 0
      ? `${formatNumber(ended)} of ${formatNumber(contents.length)} files are through`
      : reason,
    contents.length > 0 &&
      make(
        'ul',
        {},
        ...contents.map((content) => make('li', {}, content.file_name, ' ', ...describe(content))),
      ),
  )
}

function describe({ state, reason, activity_id: id, activity_name: name }: Content): Child[] {
  return [
    makeBadge(state, MOODS[state] ?? 'busy'),
    ' ',
    id !== null && make('a', { href: `/activities/${id}` }, name || 'the activity'),
    id !== null && reason !== null && ' ',
    reason ?? (state === 'accepted' && id === null ? 'it is safe in the drop folder' : null),
  ]
}
