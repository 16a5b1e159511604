import { Command, type Option } from 'commander'
import { EXIT_MEANINGS, exitsOf, makeProgram, VERBS } from '../../src/program/cli/cli.ts'
import { defaultOf } from '../../src/program/config/define-settings.ts'
import { IN_DATA_DIR } from '../../src/program/config/env-file.ts'
import { EXIT } from '../../src/program/frame/context.ts'
import type { Verb } from '../../src/program/frame/verb.ts'
import { KNOWN } from '../kit/config.ts'

/** The data directory differs between a clone, where this is generated, and an installed package. */
const DATA_DIR_DEFAULT = '$XDG_DATA_HOME/musette or the like of the platform; ./.musette in a clone'

/** Makes the man page of musette, in the macros of man(7), from the help of the verbs and the settings; `date` is in ISO form. */
export function makeManPage(date: string): string {
  const program = makeProgram(async () => undefined)
  return [
    `.TH MUSETTE 1 ${date} musette "User Commands"`,
    '.nh',
    '.ad l',
    '.SH NAME',
    `musette \\- ${roff(program.description().replace(/^K/, 'k').replace(/\.$/, ''))}`,
    '.SH SYNOPSIS',
    '.B musette',
    roff('[--settings file] verb [argument ...] [option ...]'),
    '.SH OPTIONS',
    ...program.options.filter(({ hidden }) => !hidden).flatMap((option) => optionLines(program, option)),
    '.SH VERBS',
    ...VERBS.flatMap(verbLines),
    '.SH ENVIRONMENT',
    roff(
      `What the environment does not set is read from the file of --settings, and then from ${IN_DATA_DIR} in the data directory. musette config shows every value and where it was set.`,
    ),
    '.PP',
    roff(
      `${KNOWN.fromFile.join(', ')} can also be read from a file: set the same name with _FILE to its path.`,
    ),
    ...[...KNOWN.variables].flatMap(([name, variable]) => {
      const fallback = name === 'MUSETTE_DATA_DIR' ? DATA_DIR_DEFAULT : defaultOf(variable)
      return tagged(name, `${variable.description}${fallback === undefined ? '' : ` (default: ${fallback})`}`)
    }),
    '.SH EXIT STATUS',
    ...Object.entries(EXIT_MEANINGS).flatMap(([kind, meaning]) =>
      tagged(String(EXIT[kind as keyof typeof EXIT]), meaning),
    ),
    '.SH FILES',
    ...tagged('drop', 'in the data directory: the watched folder, unless MUSETTE_DROP_DIR names another'),
    ...tagged(IN_DATA_DIR, 'in the data directory: settings, one NAME=value a line'),
    ...tagged('secret.key', 'in the data directory: the key that encrypts the stored tokens'),
    '.SH SEE ALSO',
    roff('docs/operating.md, docs/schema.md and docs/cookbook.md, which the package contains'),
    '',
  ]
    .flatMap(wrap)
    .join('\n')
}

/** Returns the date in the heading of a man page; empty when it has none. */
export function dateOf(manPage: string): string {
  return /^\.TH \S+ \S+ (\S+)/.exec(manPage)?.[1] ?? ''
}

function verbLines({ words, help, add }: Verb): string[] {
  if (!help) return []
  const { notes = [], settings, examples, exits } = help
  const verb = add(new Command(), async () => undefined)
  const codes = exitsOf({ exits }).map(([code]) => code)
  return [
    `.SS "${roff(`musette ${words} ${verb.usage().replace('[options] ', '').replace('[options]', '')}`.trim())}"`,
    roff(sentence(verb.description())),
    ...verb.options.flatMap((option) => optionLines(verb, option)),
    ...notes.flatMap((note) => ['.PP', roff(note)]),
    ...(settings.length === 0 ? [] : ['.PP', roff(`Settings: ${settings.join(', ')}.`)]),
    '.PP',
    roff(`Exit codes: ${codes.join(', ')}.`),
    '.PP',
    ...examples.map((example) => `.RS 4\n.nf\n${roff(example)}\n.fi\n.RE`),
  ]
}

function optionLines(command: Command, option: Option): string[] {
  const help = command.createHelp()
  return tagged(help.optionTerm(option), help.optionDescription(option))
}

function tagged(term: string, text: string): string[] {
  return ['.TP', `.B ${roff(term)}`, roff(text)]
}

/** Splits a text at spaces into lines that linters of man pages accept; macros are left. */
function wrap(line: string): string[] {
  if (/^[.']/.test(line)) return [line]
  return (line.match(/.{1,78}(?= |$)|[^ ]+/g) ?? ['']).map((part) => part.trim().replace(/^[.']/, '\\&$&'))
}

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

/** Escapes a text for roff: the hyphen of an option is a minus, and no line begins with a control character. */
function roff(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\e')
    .replace(/-/g, '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll("'", '\\(aq')
    .replaceAll('…', '\\&...')
    .replaceAll('~', '\\(ti')
    .replaceAll('^', '\\(ha')
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped
}
