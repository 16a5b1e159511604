import { type Command, Option } from 'commander'
import { closeAfter } from '../../kit/release-stack.ts'
import type { App } from '../app/app.ts'
import type { LocalApp } from '../app/local-app.ts'
import type { Context, EXIT, Run, VerbOptions } from './context.ts'
import { makeProgressLine, type ProgressLine } from './progress.ts'

export type Verb = {
  /** as they are typed: `workout list` */
  words: string
  /** undefined for a hidden verb */
  help: VerbHelp | undefined
  /** adds it to the program and returns its command; `run` runs its work */
  add(program: Command, run: Run): Command
}

export type VerbHelp = {
  /** paragraphs beyond the options */
  notes?: readonly string[]
  /** the settings of the verb, except MUSETTE_LOG_LEVEL, and those that a feature names for it */
  settings: readonly string[]
  /** the exit codes except 0, 1 and 2, which every verb has */
  exits: ReadonlyArray<keyof typeof EXIT>
  examples: readonly string[]
}

/** An option of commander; `held` is the type of its value, and exists for the compiler only. */
type OptionOf<T> = Option & { held?: T }
type Options = Readonly<Record<string, Option>>

/** Makes an option without a value. */
export function flag(flags: string, description: string): OptionOf<boolean | undefined> {
  return new Option(flags, description)
}

/** Makes an option with a value: a text unless `parse` makes it something else. `D` is `never` when a verb is not run without it. */
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

/** A person waits no longer for a service that has asked to wait; a pass does. */
export const LONGEST_PAUSE_MS = 60_000

/** How each verb opens what it needs: `reading` writes nothing, so that it works on a standby, `app` requests of the service, too. A person waits for it, so that it keeps no pause after a failure. */
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

/** What a verb works with: the context, the app that it needs, and the duration of its life until now. */
export type Tools<D extends Needs> = Context & {
  app: Opened[D]
  /** begins a line that shows how far the work is; it ends with the verb */
  beginProgress(what: string): ProgressLine
  /** returns the time since the verb began, ms */
  took(): number
}

/** `<file>`, `[name]` or `[paths...]` behind the name of a verb, by that name. */
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

/** The same; where a database is opened, `account` is the chosen one: the one that is named, default, or the only one. */
type Input<N extends string, O extends Options, D extends Needs> = Typed<N, O> &
  (['account', D] extends [keyof Typed<N, O>, Exclude<Needs, 'nothing'>] ? { account: string } : unknown)

/** No verb that a person sees lacks its help. */
type Shown = { hidden?: false; help: VerbHelp } | { hidden: true; help?: undefined }

type Definition<N extends string, O extends Options, D extends Needs, B> = VerbOptions & {
  group?: Group
  /** with its argument, as in `export [path]` */
  name: N
  description: string
  /** the keys are the names of the values in the input of `run` */
  options?: O
  isDefault?: boolean
  /** opened before the work and closed after it */
  needs: D
  /** works for seconds and ends, so that less is compiled */
  isPass?: boolean
  /** checks the usage, or reads what is named, before anything is opened; `run` gets what it returns */
  before?(context: Context, typed: Typed<N, O>): B | Promise<B>
  /** resolves to the exit code, undefined for 0 */
  run(tools: Tools<D>, input: Input<N, O, D>, prepared: B): Promise<number | undefined>
} & Shown

/**
 * Makes a verb of its description and its work:
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
 * It loads its code with import(), because each start of the program loads the file of each verb.
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
