import { compress, init } from '@bokuweb/zstd-wasm'

// Here and not at each use: a second `init` would give the library a memory that its functions do not use, and what it
// compresses then is not what it was given. Only the Parquet encoder loads this module, when it encodes.
await init()

/** Compresses bytes to one zstd frame, at a level from which on more time brings next to nothing. */
export const compressZstd = (data: Uint8Array): Uint8Array => compress(data, 9)
