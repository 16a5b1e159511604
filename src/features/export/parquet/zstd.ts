import { compress, init } from '@bokuweb/zstd-wasm'

// Here and not at each use: a second `init` would give the library a memory that its functions do not use, and what it
// compresses then is not what it was given. Only the Parquet encoder loads this module, when it encodes.
await init()

/** Compresses bytes to one zstd frame. Level 9 would take twice the time, for 0.1 to 1.4 % fewer bytes of samples. */
export const compressZstd = (data: Uint8Array): Uint8Array => compress(data, 5)
