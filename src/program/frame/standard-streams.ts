import { fstatSync, writeFileSync } from 'node:fs'
import { ConfigError, errorCode, errorLine, isDiskFull, TransientError } from '../../kit/errors.ts'
import { EXIT, exitFor } from './context.ts'

/**
 * Ends the process if a verb cannot write to standard output. If the reader has closed the pipe (`musette status | head`), exits 0 without
 * a message. Otherwise prints one sentence and exits with the code for an unwritable file. A failed write to standard error is ignored, so
 * the work continues.
 */
export function guardStandardStreams(): void {
  const { stdout, stderr } = process
  // Node writes to a file once and does not notice that only some of the bytes arrived, so the end would be lost silently.
  if (fstatSync(stdout.fd).isFile()) stdout._write = writeWhole
  stdout.on('error', (error) => {
    if (errorCode(error) === 'EPIPE') process.exit(EXIT.done)
    const { sentence, code } = exitFor(outputError(error))
    stderr.write(`${sentence}\n`)
    process.exit(code)
  })
  stderr.on('error', () => undefined)
}

/** Writes a piece and waits until the reader has it. A closed pipe ends the process, see guardStandardStreams. */
export function writeTo(output: NodeJS.WriteStream, piece: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    output.write(piece, (error) => (error ? reject(error) : resolve()))
  })
}

/** Writes a piece of an answer to standard output, as writeTo does. */
export function writeOut(piece: string | Uint8Array): Promise<void> {
  return writeTo(process.stdout, piece)
}

/** Throws ConfigError `bad_usage` with this sentence if standard output is a terminal. */
export function refuseTerminal(sentence: string): void {
  if (process.stdout.isTTY) throw new ConfigError('bad_usage', sentence)
}

function writeWhole(piece: Uint8Array, _encoding: unknown, done: (error?: Error) => void): void {
  try {
    writeFileSync(process.stdout.fd, piece)
    done()
  } catch (error) {
    done(error as Error)
  }
}

function outputError(error: Error): Error {
  if (isDiskFull(error)) {
    const message = `standard output cannot be written: the disk is full (${errorCode(error)}); make room, or send it to a file on another disk`
    return new TransientError('output_disk_full', message, { cause: error })
  }
  const message = `standard output cannot be written (${errorLine(error)}); send it to another file`
  return new ConfigError('output', message, { cause: error })
}
