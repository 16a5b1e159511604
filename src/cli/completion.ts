import { Argument, type Command, type Help, type Option } from 'commander'
import { quoteShell } from '../kit/text.ts'

type Shell = keyof typeof SCRIPTS

/** What a shell completes in the place of a value: one of these words, the path of a file or of a folder, or nothing. */
type Value = readonly string[] | 'file' | 'folder' | 'text'

/** One option: `flags` are its spellings, `value` is undefined when it takes none. */
type Flag = { flags: readonly string[]; description: string; value: Value | undefined }

/** The program, or a verb of it; `words` is `['key', 'rotate']` for the verb `key rotate`. */
type Level = {
  words: readonly string[]
  description: string
  flags: readonly Flag[]
  levels: readonly Level[]
  /** what its arguments are; undefined when it has none */
  value: Value | undefined
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** Adds the verb `completion` to the program. It reads no settings, because shells run it when they start. */
export function addCompletionVerb(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes verbs, options and their values at the Tab key')
    .addArgument(new Argument('<shell>', 'whose script').choices(Object.keys(SCRIPTS)))
    .action((shell: Shell) => void process.stdout.write(makeScript(program, shell)))
}

/** Makes the script from the verbs and options of a program, so that it completes what this version understands. */
export function makeScript(program: Command, shell: Shell): string {
  return `${SCRIPTS[shell](levelOf(program, program.createHelp(), []))}\n`
}

function levelOf(command: Command, help: Help, words: readonly string[]): Level {
  const [argument] = command.registeredArguments
  return {
    words,
    description: help.subcommandDescription(command),
    flags: help.visibleOptions(command).map(flagOf),
    levels: help
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .map((each) => levelOf(each, help, [...words, each.name()])),
    value: argument && parseValue(argument.name(), argument.argChoices),
  }
}

function flagOf({ short, long, description, required, flags, argChoices }: Option): Flag {
  const [, name = ''] = /[<[]([\w:]+)/.exec(flags) ?? []
  return {
    flags: [short, long].filter((flag) => flag !== undefined),
    description,
    value: required ? parseValue(name, argChoices) : undefined,
  }
}

function parseValue(name: string, choices: readonly string[] | undefined): Value {
  if (choices) return choices
  if (name === 'file') return 'file'
  return name === 'dir' ? 'folder' : 'text'
}

function allLevels(level: Level): Level[] {
  return [level, ...level.levels.flatMap(allLevels)]
}

/** Makes the script for bash, 3.2 of macOS included. Its default completion, of files, is switched off where no file is meant. */
function bashScript(program: Level): string {
  const levels = allLevels(program)
  const ofProgram = program.flags.filter(({ value }) => value !== undefined)
  const takesValue = levels.flatMap(({ words, flags }) =>
    flags
      .filter(({ value }) => value !== undefined)
      .flatMap((each) => each.flags.map((flag) => quoteShell(`${words.join(' ')} ${flag}`))),
  )
  const anywhere = ofProgram.flatMap(({ flags }) => flags.map((flag) => `*${quoteShell(` ${flag}`)}`))
  const verbs = levels
    .slice(1)
    .map(({ words }) => quoteShell(`${words.slice(0, -1).join(' ')} ${words.at(-1)}`))
  const cases = levels.flatMap((level) => {
    const name = level.words.join(' ')
    const verb = level === program ? '*' : quoteShell(name)
    const ofFlags = level.flags.flatMap(({ flags, value }) =>
      flags.flatMap((flag) => bashCase(`${verb}:${flag}:*`, value)),
    )
    const flags = level.flags.flatMap((each) => each.flags.filter((flag) => flag.startsWith('--')))
    const verbWords = level.levels.map(({ words }) => words.at(-1) ?? '')
    return [
      ...ofFlags,
      ...bashCase(`${quoteShell(name)}::-*`, flags),
      ...bashCase(`${quoteShell(name)}::*`, verbWords.length > 0 ? verbWords : level.value),
    ]
  })
  return `# Completion of musette for bash; in ~/.bashrc: source <(musette completion bash)
_musette() {
  local verb='' option='' words='' word i current=\${COMP_WORDS[COMP_CWORD]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == '=' ]]; then continue; fi
    if [[ $option ]]; then option=''; continue; fi
    case "$verb $word" in
      ${[...takesValue, ...anywhere].join(' | ')}) option=$word ;;
      ${verbs.join(' | ')}) verb="\${verb:+$verb }$word" ;;
    esac
  done
  if [[ $current == '=' ]]; then current=''; fi
  COMPREPLY=()
  case "$verb:$option:$current" in
    ${cases.join('\n    ')}
  esac
  compopt +o default 2>/dev/null
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _musette musette`
}

/** Returns the case of a place where something is completed; in every other place nothing is. */
function bashCase(pattern: string, value: Value | undefined): string[] {
  if (value === undefined || value === 'text') return []
  if (value === 'file') return [`${pattern}) return ;;`]
  if (value === 'folder') return [`${pattern}) compopt +o default -o dirnames 2>/dev/null; return ;;`]
  return [`${pattern}) words=${quoteShell(value.join(' '))} ;;`]
}

/** Makes the script for zsh, which calls the bash script. */
function zshScript(program: Level): string {
  return `# Completion of musette for zsh; in ~/.zshrc, after compinit: source <(musette completion zsh)
autoload -U bashcompinit && bashcompinit
${bashScript(program)}`
}

/** Makes the script for fish: a line for each verb, option and value. */
function fishScript(program: Level): string {
  return [
    '# Completion of musette for fish; save it as ~/.config/fish/completions/musette.fish',
    'complete -c musette -f',
    ...allLevels(program).flatMap(fishLines),
  ].join('\n')
}

function fishLines({ words, flags, levels, value }: Level): string[] {
  const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`)
  const nextVerb = levels.map((each) => each.words.at(-1)).join(' ')
  const noVerb = levels.length === 0 ? [] : [`not __fish_seen_subcommand_from ${nextVerb}`]
  const line = (conditions: readonly string[], rest: string) =>
    `complete -c musette${conditions.length === 0 ? '' : ` -n ${quoteShell(conditions.join('; and '))}`} ${rest}`
  return [
    ...levels.map((each) =>
      line(
        [...seen, ...noVerb],
        `-a ${quoteShell(each.words.at(-1) ?? '')} -d ${quoteShell(each.description)}`,
      ),
    ),
    ...(value === undefined || value === 'text' ? [] : [line(seen, fishAnswer(value))]),
    ...flags.map((each) => {
      const names = each.flags.map((flag) =>
        flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag[1]}`,
      )
      const answer =
        each.value === undefined ? '' : ` ${each.value === 'file' ? '-rF' : `-r ${fishAnswer(each.value)}`}`
      return line(seen, `${names.join(' ')} -d ${quoteShell(each.description)}${answer}`)
    }),
  ]
}

function fishAnswer(value: Value): string {
  if (value === 'file') return '-F'
  if (value === 'folder') return `-f -a '(__fish_complete_directories)'`
  return value === 'text' ? '-f' : `-f -a ${quoteShell(value.join(' '))}`
}
