import { parentPort } from 'node:worker_threads'
import { encodeGroup, type Group } from './parquet-group.ts'

// The thread of encoder-thread.ts: encodes the row groups that it receives as messages. Handles no errors, because an error ends the thread
// and so the export.
parentPort?.on('message', (group: Group) => {
  const encoded = encodeGroup(group)
  parentPort?.postMessage(encoded, [encoded.bytes.buffer])
})
