import { type Command, Option } from 'commander'
import { closeAfter } from '../../kit/release-stack.ts'
import type { App } from '../app/app.ts'
import type { LocalApp } from '../app/local-app.ts'
import type { Context, EXIT, Run, VerbOptions } from './context.ts'
import { makeProgressLine, type ProgressLine } from './progress.ts'

export type Verb = {
  /** the words of the verb as typed: `workout list` */
  words: string
  /** undefined for a hidden verb */
  help: VerbHelp | undefined
  /** adds the verb to the program and returns its command; `run` runs the verb's work */
  add(program: Command, run: Run): Command
}

export type VerbHelp = {
  /** paragraphs after the options */
  notes?: readonly string[]
  /** the verb's settings, except MUSETTE_LOG_LEVEL and settings that a feature adds */
  settings: readonly string[]
  /** the verb's exit codes, except 0, 1 and 2, which every verb has */
  exits: ReadonlyArray<keyof typeof EXIT>
  examples: readonly string[]
}

/** An option of commander; `held` is the type of its value and exists only for the compiler. */
type OptionOf<T> = Option & { held?: T }
type Options = Readonly<Record<string, Option>>

/** Makes an option without a value. */
export function flag(flags: string, description: string): OptionOf<boolean | undefined> {
  return new Option(flags, description)
}

/** Makes an option with a value: a string, or what `parse` returns. `D` is `never` if the verb requires the option. */
export function option<T = string, D = undefined>(
  flags: string,
  description: string,
  parse?: (text: string, before: T) => T,
  fallback?: D,
): OptionOf<T | D> {
  const made = new Option(flags, description).default(fallback)
  return parse ? made.argParser(parse) : made
}

/** Verbs that share a first word, as in `workout list`. */
type Group = { name: string; description: string }

type Opened = { nothing: { close(): Promise<void> }; reading: LocalApp; database: LocalApp; app: App }
type Needs = keyof Opened

/** The longest pause, ms, that a verb accepts if the service asks for a pause, because a person waits. A pass accepts any pause. */
export const LONGEST_PAUSE_MS = 60_000

/**
 * How each verb opens what it needs. `reading` writes nothing, so it works on a standby; `app` can also send requests to the service. `app`
 * makes no pause after a failure, because a person waits.
 */
const OPEN: { [D in Needs]: (context: Context, isPass: boolean) => Promise<Opened[D]> } = {
  nothing: async () => ({ close: async () => undefined }),
  reading: async ({ config, log, signal }) =>
    (await import('../app/local-app.ts')).openLocalApp(config, log, signal, 'read'),
  database: async ({ config, log, signal }) =>
    (await import('../app/local-app.ts')).openLocalApp(config, log, signal),
  app: async ({ config, log, signal, features }, isPass) =>
    (await import('../app/app.ts')).openApp(config, log, {
      signal,
      byHand: true,
      ...(!isPass && { longestPauseMs: LONGEST_PAUSE_MS }),
      preparation: 'check',
      features,
    }),
}

/** What a verb works with: the context, the app that it needs, and the time since it began. */
export type Tools<D extends Needs> = Context & {
  app: Opened[D]
  /** begins a progress line, which ends when the verb ends */
  beginProgress(what: string): ProgressLine
  /** returns the time since the verb began, ms */
  took(): number
}

/** The argument in a verb's name, `<file>`, `[name]` or `[paths...]`, as a member with that name. */
type ArgumentOf<N extends string> = N extends `${string} ${'<' | '['}${infer A}...${string}`
  ? Record<A, string[]>
  : N extends `${string} <${infer A}>`
    ? Record<A, string>
    : N extends `${string} [${infer A}]`
      ? Record<A, string | undefined>
      : unknown

type Held<O> = O extends OptionOf<infer T> ? T : never
type Values<O extends Options> = {
  [K in keyof O as undefined extends Held<O[K]> ? never : K]: Held<O[K]>
} & {
  [K in keyof O as undefined extends Held<O[K]> ? K : never]?: Exclude<Held<O[K]>, undefined>
}

/** What was typed: argument and options. */
type Typed<N extends string, O extends Options> = ArgumentOf<N> & Values<O>

/** Like Typed; if a database is opened, `account` is the chosen account: the named one, `default`, or the only one. */
type Input<N extends string, O extends Options, D extends Needs> = Typed<N, O> &
  (['account', D] extends [keyof Typed<N, O>, Exclude<Needs, 'nothing'>] ? { account: string } : unknown)

/** Every verb that is not hidden has a help text. */
type Shown = { hidden?: false; help: VerbHelp } | { hidden: true; help?: undefined }

type Definition<N extends string, O extends Options, D extends Needs, B> = VerbOptions & {
  group?: Group
  /** the verb's name with its argument, as in `export [path]` */
  name: N
  description: string
  /** the verb's options; the keys name the values in the input of `run` */
  options?: O
  isDefault?: boolean
  /** opened before the work and closed after it */
  needs: D
  /** whether the verb only works for seconds, so that V8 should compile less */
  isPass?: boolean
  /** checks the usage or reads named files before anything is opened; `run` gets the result */
  before?(context: Context, typed: Typed<N, O>): B | Promise<B>
  /** resolves to the exit code, or undefined for 0 */
  run(tools: Tools<D>, input: Input<N, O, D>, prepared: B): Promise<number | undefined>
} & Shown

/**
 * Makes a verb from its description and its work:
 *
 *     export const pathsVerb = defineVerb({
 *       name: 'paths [name]',
 *       description: 'print paths',
 *       options: { account: option('--account <account>', 'whose paths'), json: flag('--json', 'as one JSON array') },
 *       needs: 'database',
 *       help: { settings: DATABASE, exits: ASKS, examples: ['musette paths'] },
 *       async run({ app, printJson }, { name, account, json }) { … },
 *     })
 *
 * `run` loads its code with import(), because every start of the program loads every verb's file.
 */
export function defineVerb<
  const N extends string,
  const D extends Needs,
  O extends Options = Record<never, Option>,
  B = undefined,
>(verb: Definition<N, O, D, B>): Verb {
  const { group, name, description, needs, isDefault = false, hidden = false, help } = verb
  const options: Options = verb.options ?? {}
  const words = [...(group ? [group.name] : []), name.replace(/ .*/, '')].join(' ')
  const add = (program: Command, run: Run) => {
    const parent = group ? groupIn(program, group) : program
    const command = parent.command(name, { isDefault, hidden }).description(description)
    for (const each of Object.values(options)) command.addOption(each)
    const [argument] = command.registeredArguments
    const isOfAccount = needs !== 'nothing' && ('account' in options || argument?.name() === 'account')
    const live = async (context: Context, typed: Typed<N, O>) => {
      const startedAt = performance.now()
      const took = () => Math.round(performance.now() - startedAt)
      const prepared = (await verb.before?.(context, typed)) as B
      if (verb.isPass) await (await import('./tune-for-pass.ts')).tuneForPass()
      return closeAfter(await OPEN[needs](context, verb.isPass ?? false), async (app) => {
        const chosen = isOfAccount && { account: await chooseAccount(app as LocalApp, words, typed) }
        const lines: ProgressLine[] = []
        const beginProgress = (what: string) => {
          const line = makeProgressLine(context, what)
          lines.push(line)
          return line
        }
        try {
          const tools = { ...context, app, beginProgress, took }
          return await verb.run(tools, { ...typed, ...chosen } as Input<N, O, D>, prepared)
        } finally {
          for (const line of lines) line.close()
        }
      })
    }
    return command.action((value: unknown) => {
      const given = command.opts()
      const values = Object.entries(options).map(([key, each]) => [key, given[each.attributeName()]])
      const typed = Object.fromEntries(values.filter(([, held]) => held !== undefined))
      if (argument) typed[argument.name()] = value
      return run((context) => live(context, typed as Typed<N, O>), verb)
    })
  }
  return { words, help, add }
}

async function chooseAccount(app: LocalApp, words: string, typed: { account?: string }): Promise<string> {
  const { findChosenAccount } = await import('../app/local-app.ts')
  return findChosenAccount(app, { name: typed.account, verb: words })
}

function groupIn(program: Command, { name, description }: Group): Command {
  const made = program.commands.find((command) => command.name() === name)
  return made ?? program.command(name).description(description)
}
