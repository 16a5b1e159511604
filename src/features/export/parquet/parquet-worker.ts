import { parentPort } from 'node:worker_threads'
import { encodeGroup, type Group } from './parquet-group.ts'

// A thread that encodes its messages (encoder-thread.ts). It has no handler for errors: one ends it, and then the export.
parentPort?.on('message', (group: Group) => {
  const encoded = encodeGroup(group)
  parentPort?.postMessage(encoded, [encoded.bytes.buffer])
})
