import { sql } from 'drizzle-orm'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Tx } from '../../../../core/store/store.ts'
import { ConfigError, errorCode, errorLine, isDiskFull, TransientError } from '../../../../kit/errors.ts'
import { isTimeZone, SECOND } from '../../../../kit/time.ts'
import { dropFile } from '../../../../program/app/files/drop-file.ts'
import { setHomeTimezone } from '../../../../program/app/sign-in.ts'
import type { PagesApp } from '../page-frame.ts'
import { rowsOf } from '../rows-of.ts'

const MIB = 1_024 * 1_024
/** Maximum size of a file that the page accepts. */
const MAX_BYTES = 200 * MIB
const NOT_WATCHED =
  'this process does not watch the drop folder because it lacks the role watcher; use: musette upload FILE'
const TOO_LARGE = 'the file is larger than 200 MiB; put it into the drop folder'
/** How long a sender may send nothing before its connection is closed, ms. */
const IDLE_MS = 30 * SECOND
/** Maximum number of concurrent uploads, because many large uploads could fill a small disk. A page sends one file at a time. */
const MAX_AT_ONCE = 4

const ofText = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength })
/** At most 50 ids, because a URL has room for no more. */
const IDS = { type: 'string', pattern: '^[0-9a-f]{64}(?:,[0-9a-f]{64}){0,49}$' }
/** Makes the schema of a query about an account. */
const makeSchema = (properties: Readonly<Record<string, object>>) => ({
  querystring: {
    type: 'object',
    properties: { account: ofText(200), ...properties },
    required: ['account', ...Object.keys(properties)],
  },
})

/**
 * Adds the routes by which a page writes: `POST /api/drop` accepts a file, `POST /api/home-timezone` sets a rider's home time zone.
 * `GET /api/drop` reports whether files are accepted, `GET /api/drop/contents` returns the results of files.
 */
export async function registerWrites(server: FastifyInstance, app: PagesApp, isWatched: boolean) {
  // Refuses files if this process has no watcher, because nothing would upload the files.
  const closed = isWatched ? undefined : NOT_WATCHED
  let arriving = 0
  await server.register(
    async (scope) => {
      // Keeps the body a stream, so that a large file does not fill the memory.
      scope.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null))
      scope.setErrorHandler((error, _request, reply) => sendReason(error, reply))

      scope.get('/drop', async () => ({ closed: closed ?? null }))

      scope.get<{ Querystring: { account: string; ids: string } }>(
        '/drop/contents',
        { schema: makeSchema({ ids: IDS }) },
        async ({ query: { account, ids } }) =>
          app.store.read((tx) => findDroppedContents(tx, { account, contentIds: ids.split(',') })),
      )

      scope.post<{ Querystring: { account: string; name: string } }>(
        '/drop',
        {
          schema: makeSchema({ name: ofText(1_000) }),
          config: { isSlow: true },
          bodyLimit: MAX_BYTES,
        },
        async (request, reply) => {
          if (closed !== undefined) return reply.code(503).send({ error: closed })
          if (Number(request.headers['content-length'] ?? 0) > MAX_BYTES) throw new TooLarge(TOO_LARGE)
          if (arriving >= MAX_AT_ONCE)
            return reply
              .code(429)
              .header('retry-after', '5')
              .send({ error: 'other files are arriving; the page will retry' })
          arriving++
          try {
            const { account, name } = request.query
            const dropped = await dropFile(app.owner, { account, name, bytes: readLimited(request) })
            return dropped.accepted
              ? reply.code(202).send(dropped)
              : reply.code(422).send({ error: dropped.reason })
          } finally {
            arriving--
          }
        },
      )

      scope.post<{ Querystring: { account: string; timezone: string } }>(
        '/home-timezone',
        { schema: makeSchema({ timezone: ofText(100) }) },
        async ({ query: { account: name, timezone } }, reply) => {
          if (!isTimeZone(timezone)) {
            const error = `"${timezone}" is not a time zone; write an IANA name such as Europe/Berlin`
            return reply.code(400).send({ error })
          }
          await setHomeTimezone(app.owner, { name, timezone })
          return reply.code(204).send()
        },
      )
    },
    { prefix: '/api' },
  )
}

class TooLarge extends Error {}

/** Yields the body; throws if it is too large, incomplete or stalled. */
async function* readLimited({ raw }: FastifyRequest): AsyncGenerator<Uint8Array> {
  let bytes = 0
  const idle = setTimeout(() => raw.destroy(new Error('the sender has stalled')), IDLE_MS)
  try {
    for await (const chunk of raw as AsyncIterable<Uint8Array>) {
      idle.refresh()
      bytes += chunk.length
      if (bytes > MAX_BYTES) throw new TooLarge(TOO_LARGE)
      yield chunk
    }
  } finally {
    clearTimeout(idle)
  }
}

const NOT_WRITABLE: readonly string[] = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOENT']

/** Sends the reason why a file is refused; rethrows errors that do not come from the file, the disk or the database. */
function sendReason(error: unknown, reply: FastifyReply) {
  const code = errorCode(error)
  if (error instanceof TooLarge)
    return reply.code(413).header('connection', 'close').send({ error: error.message })
  if (error instanceof ConfigError) return reply.code(409).send({ error: errorLine(error) })
  if (error instanceof TransientError) return reply.code(503).send({ error: errorLine(error) })
  if (isDiskFull(error)) return reply.code(507).send({ error: `the drop folder's disk is full (${code})` })
  if (NOT_WRITABLE.includes(code))
    return reply.code(503).send({ error: `the drop folder cannot be written (${code}); run: musette doctor` })
  throw error
}

/** The result of one FIT file that was dropped. */
type DroppedContent = Record<'content_id' | 'file_name' | 'state', string> &
  Record<'reason' | 'activity_name', string | null> & { activity_id: number | null }

/** Finds the results of an account's FIT files by content id; leaves out unknown ids. */
export async function findDroppedContents(tx: Tx, input: { account: string; contentIds: readonly string[] }) {
  return rowsOf<DroppedContent>(tx)`
     select u.content_id, u.file_name, u.state, u.reason, v.activity_id, v.name as activity_name
     from training.uploads u join training.accounts a using (account_id) left join training.activities v on v.activity_id = u.activity_id
     where a.name = ${input.account} and u.content_id = any (${sql.param(input.contentIds)})`
}
