import { once } from 'node:events'
import { join } from 'node:path'
import { Worker as Thread } from 'node:worker_threads'
import { errorLine, TransientError } from '../../../kit/errors.ts'
import { PROGRAM_FOLDER } from '../../../kit/program-folder.ts'
import type { EncodeGroup } from './parquet-encoder.ts'
import type { EncodedGroup } from './parquet-group.ts'

export type EncoderThread = { encode: EncodeGroup; close(): Promise<void> }

/** The built script, even if this module runs from src/, because Node 20 cannot start a thread from a TypeScript file. */
const SCRIPT = join(PROGRAM_FOLDER, 'dist/parquet-worker.js')

/**
 * Starts a thread that encodes one row group while the main thread reads the rows of the next group. The arrays of a group move to the
 * thread. The thread runs until `close`; if the thread dies, `encode` throws TransientError `encoder_died`.
 */
export function openEncoderThread(script = SCRIPT): EncoderThread {
  // No flags of this process, because they may name loaders for TypeScript. A row group is short-lived: a larger young generation would
  // only collect its texts later and take 40 MB more.
  const thread = new Thread(script, { execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: 16 } })
  const ended = new AbortController()
  const end = (why: string, cause?: unknown) => {
    const message = `the thread that encodes the export stopped (${why}); the last export is still there; run: musette export --all --format parquet --to DIR`
    ended.abort(new TransientError('encoder_died', message, { cause }))
  }
  thread.on('error', (error) => end(errorLine(error), error))
  thread.on('exit', (code) => end(`exit code ${code}`))
  return {
    async encode(group) {
      ended.signal.throwIfAborted()
      const arrays = group.parts.flatMap(({ columns }) =>
        columns.flatMap(({ values, nulls, utf8 }) => [
          nulls,
          ...(utf8 ? [utf8.bytes, utf8.ends] : []),
          ...(Array.isArray(values) ? [] : [values]),
        ]),
      )
      thread.postMessage(
        group,
        arrays.map(({ buffer }) => buffer as ArrayBuffer),
      )
      const [encoded] = await once(thread, 'message', ended).catch(() => Promise.reject(ended.signal.reason))
      return encoded as EncodedGroup
    },
    close: async () => void (await thread.terminate()),
  }
}
