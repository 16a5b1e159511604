import { Argument, type Command, type Option } from 'commander'
import type { Verb } from '../frame/verb.ts'

/** Words that tell the script to let the shell complete paths. No verb and no option begins with a colon, so the words are unambiguous. */
const PATHS: Readonly<Record<string, string[]>> = { file: [':file'], dir: [':folder'] }

const BASH = `_musette() {
  local current=\${COMP_WORDS[COMP_CWORD]} words
  words=$(musette complete -- "\${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null | cut -f 1)
  COMPREPLY=()
  if [[ $words == :file ]]; then return; fi
  compopt +o default 2>/dev/null
  if [[ $words == :folder ]]; then compopt -o dirnames 2>/dev/null; return; fi
  if [[ $current == '=' ]]; then current=''; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _musette musette`

/** The script for each shell. The bash script also runs in bash 3.2 of macOS, which lacks compopt; zsh runs the bash script. */
const SCRIPTS = {
  bash: `# Completion of musette for bash; in ~/.bashrc: source <(musette completion bash)
${BASH}`,
  zsh: `# Completion of musette for zsh; in ~/.zshrc, after compinit: source <(musette completion zsh)
autoload -U bashcompinit && bashcompinit
${BASH}`,
  fish: `# Completion of musette for fish; save it as ~/.config/fish/completions/musette.fish
function _musette
  set -l current (commandline -ct)
  set -l words (musette complete -- (commandline -opc)[2..] "$current" 2>/dev/null)
  switch "$words"
    case :file
      __fish_complete_path "$current"
    case :folder
      __fish_complete_directories "$current"
    case '*'
      printf '%s\\n' $words
  end
end
complete -c musette -f -a '(_musette)'`,
}

/**
 * Prints a completion script. At the Tab key the script runs the hidden verb `complete`, so one script works with every version of musette.
 * Neither verb reads settings.
 */
export const completionVerb: Verb = {
  words: 'completion',
  help: {
    notes: [
      'For bash, add to ~/.bashrc: source <(musette completion bash). For zsh, add to ~/.zshrc after compinit: source <(musette completion zsh). For fish, save the script as ~/.config/fish/completions/musette.fish.',
    ],
    settings: [],
    exits: [],
    examples: ['musette completion fish > ~/.config/fish/completions/musette.fish'],
  },
  add: (program) =>
    program
      .command('completion')
      .description('print a script that completes verbs, options and their values at the Tab key')
      .addArgument(new Argument('<shell>', 'whose script').choices(Object.keys(SCRIPTS)))
      .action((shell: keyof typeof SCRIPTS) => void process.stdout.write(`${SCRIPTS[shell]}\n`)),
}

export const completeVerb: Verb = {
  words: 'complete',
  help: undefined,
  add: (program) =>
    program.command('complete [words...]', { hidden: true }).action((words: string[]) => {
      for (const line of completionsOf(program, words)) process.stdout.write(`${line}\n`)
    }),
}

/** Returns the completions of the last word, each with a tab and its description. */
function completionsOf(program: Command, words: readonly string[]): string[] {
  const help = program.createHelp()
  const current = words.at(-1) ?? ''
  let command = program
  let option: Option | undefined
  for (const word of words.slice(0, -1)) {
    // Bash splits --option=value into three words.
    if (word === '=') continue
    const options: Option[] = option ? [] : [...help.visibleOptions(command), ...program.options]
    option = options.find(({ required, short, long }) => required && [short, long].includes(word))
    if (!option) command = command.commands.find((each) => each.name() === word) ?? command
  }
  if (option) return makeValues(/[<[]([\w:]+)/.exec(option.flags)?.[1], option.argChoices)
  if (current.startsWith('-'))
    return help
      .visibleOptions(command)
      .map(({ long, short, description }) => `${long ?? short}\t${description}`)
  const verbs = help.visibleCommands(command).filter((each) => each.name() !== 'help')
  const [argument] = command.registeredArguments
  if (verbs.length === 0) return makeValues(argument?.name(), argument?.argChoices)
  return verbs.map((each) => `${each.name()}\t${help.subcommandDescription(each)}`)
}

function makeValues(name = '', choices?: readonly string[]): string[] {
  return [...(choices ?? PATHS[name] ?? [])]
}
