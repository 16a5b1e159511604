import { EXIT } from '../frame/context.ts'
import type { VerbHelp } from '../frame/verb.ts'

/** What each exit code means, in the order of the codes. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done',
  unexpected: 'unexpected',
  usage: 'usage or configuration',
  noLogin: 'no account, or credentials rejected',
  unreachable:
    'service or database unreachable, or a full disk, also the one that standard output is written to',
  partial: 'finished, but some items failed',
  interrupted: 'stopped by a signal before it was done',
}

/** Returns the exit codes of a verb, each with its meaning, in the order of the codes. */
export function exitsOf({ exits }: Pick<VerbHelp, 'exits'>): Array<[code: number, meaning: string]> {
  return (Object.keys(EXIT) as Array<keyof typeof EXIT>)
    .filter((kind) => ['done', 'unexpected', 'usage'].includes(kind) || exits.includes(kind))
    .map((kind) => [EXIT[kind], EXIT_MEANINGS[kind]])
}

/** Returns the help of a verb below its options: notes, settings, exit codes and examples. */
export function helpTextOf({ notes = [], settings, exits, examples }: VerbHelp): string {
  const codes = exitsOf({ exits }).map(([code, meaning]) => `  ${String(code).padEnd(3)}  ${meaning}`)
  const parts = [
    ...notes.flatMap((note) => [...wrap(note.split(' ')), '']),
    ...(settings.length === 0
      ? []
      : ['Settings (musette config explains them):', ...wrap(settings, '  '), '']),
    'Exit codes:',
    ...codes,
    '',
    examples.length === 1 ? 'Example:' : 'Examples:',
    ...examples.map((example) => `  ${example}`),
  ]
  return `\n${parts.join('\n')}`
}

/** The width of a terminal that nobody has widened, in columns. */
const WIDTH = 80

function wrap(words: readonly string[], indent = ''): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > WIDTH) {
      lines.push(line)
      line = ''
    }
    line += line === '' ? `${indent}${word}` : ` ${word}`
  }
  return [...lines, line]
}
