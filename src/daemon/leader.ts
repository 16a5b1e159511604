import { readFile, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import type { App } from '../app/app.ts'
import { errorLine } from '../kit/errors.ts'
import { SECOND, sleep } from '../kit/time.ts'
import { makeLeaderLock } from '../store/leader-lock.ts'

/** How often a leader says that it lives and the others ask for its post, ms: one that died is followed within this. */
const ASK_EVERY_MS = 3 * SECOND

type Part = { close(): Promise<void> }

/** Something that one process at a time does, of all that use one database. */
export type Post = {
  /** a word for the log */
  name: string
  /** Tells which one it is, where there are several: which folder. It may change while this runs. */
  id?: () => Promise<string>
  /** Opens what is done; `atStart` when nobody else did it as this process began. */
  open(input: { atStart: boolean }): Promise<Part>
}

/**
 * Stands for a post, and has its part open while this process holds it. One that dies is followed by another within
 * seconds, one that falls silent within twenty. A leader that cannot reach the database goes on until it hears that
 * another leads, so for a moment two may: neither schedules nor uploads are doubled by that. Throws what the store and
 * the part throw at the first try; later ones are repeated. The times are for tests.
 */
export async function openElected(
  app: Pick<App, 'log' | 'databaseUrl'>,
  post: Post,
  { askEveryMs = ASK_EVERY_MS, silentMs }: { askEveryMs?: number; silentMs?: number } = {},
): Promise<Part> {
  const { log } = app
  const leaderLock = makeLeaderLock({
    connectionString: app.databaseUrl,
    applicationName: `musette ${post.name} ${hostname()} ${process.pid}`,
    ...(silentMs !== undefined && { silentMs }),
  })
  const stop = new AbortController()
  const say = makeVoice((level, sentence, reason) => log[level]({ post: post.name, reason }, sentence))
  let mine = false
  let lost = false
  let part: Part | undefined

  const ask = async (): Promise<void> => {
    const id = await post.id?.()
    mine = await leaderLock.acquire(id === undefined ? post.name : `${post.name} ${id}`)
  }
  const follow = async (atStart: boolean): Promise<void> => {
    if (mine) {
      part ??= await post.open({ atStart })
      say('info', 'elected: this process holds the post')
    } else {
      const closing = part
      part = undefined
      await closing?.close()
      say('info', 'another process holds the post; this one takes over when it ends')
    }
  }
  let following: Promise<void> | undefined
  /** Not waited for by who asks: a part that is long in opening or closing must not keep this process from saying that it lives. */
  const begin = (atStart: boolean): Promise<void> => {
    const work = follow(atStart)
    const done = () => {
      following = undefined
    }
    following = work.then(done, done)
    return work
  }
  const stand = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      // After an outage whoever did the work goes first: a part that goes on is better than one that is opened anew.
      const rounds = lost && !part ? 2 : 1
      await sleep(rounds * askEveryMs, stop.signal).catch(() => undefined)
      if (stop.signal.aborted) return
      try {
        await ask()
        lost = false
        if (following) continue
        begin(false).catch((error: unknown) =>
          say('warn', 'the post could not be taken over; tried again', error),
        )
      } catch (error) {
        lost = true
        say('warn', 'the database does not tell who holds the post; asked again', error)
      }
    }
  }
  let standing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    stop.abort()
    await standing
    await following
    try {
      await part?.close()
    } finally {
      await leaderLock.close()
    }
  }

  try {
    await ask()
    const first = begin(true)
    standing = stand()
    await first
  } catch (error) {
    await close()
    throw error
  }
  return { close }
}

/** Makes a voice that says a sentence once, however often it is true in a row. */
function makeVoice(write: (level: 'info' | 'warn', sentence: string, reason: string | undefined) => void) {
  let said: string | undefined
  return (level: 'info' | 'warn', sentence: string, error?: unknown) => {
    if (said === sentence) return
    said = sentence
    write(level, sentence, error === undefined ? undefined : errorLine(error))
  }
}

/**
 * Reads what tells a folder from all others: the running system, and the folder's device and number in it. Containers of
 * one machine see one folder as the same, whatever they call it. Two machines never do, not even on a network share: each
 * watches what it sees, because a folder taken for another would be watched by nobody. Where it is not there yet, its path
 * stands for it.
 */
export async function readFolderId(dir: string): Promise<string> {
  // Another number at every start of the system; where there is none, the machine's name must do.
  const system = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => hostname())
  const folder = await stat(dir, { bigint: true }).catch(() => undefined)
  return `${system.trim()} ${folder ? `${folder.dev}:${folder.ino}` : resolve(dir)}`
}
