import { parentPort } from 'node:worker_threads'
import { encodeGroup, type Group } from './parquet-group.ts'

// The thread of encoder-thread.ts; it encodes its messages. It handles no errors: an error ends the thread and thus the export.
parentPort?.on('message', (group: Group) => {
  const encoded = encodeGroup(group)
  parentPort?.postMessage(encoded, [encoded.bytes.buffer])
})
