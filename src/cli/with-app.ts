import type { App } from '../app/app.ts'
import type { LocalApp } from '../app/local-app.ts'
import type { Preparation } from '../app/open-database.ts'
import type { AccountVerb } from '../kit/errors.ts'
import { closeAfter } from '../kit/release-stack.ts'
import type { Context } from './context.ts'
import { makeProgressLine, type ProgressLine } from './progress.ts'

/** Whose account a verb works on: the one that is named, else the one that findChosenAccount finds. */
export type Chosen = { account: string | undefined; verb: AccountVerb }

/** Runs a verb that makes no request to the service, and closes what it used. */
export async function withLocalApp<T>(context: Context, work: (app: LocalApp) => Promise<T>): Promise<T> {
  const { openLocalApp } = await import('../app/local-app.ts')
  return closeAfter(await openLocalApp(context.config, context.log, context.signal), work)
}

/**
 * Runs a verb that makes requests to the service, and closes what it used. A person waits for it, so that it keeps no pause. Only a login
 * makes a database.
 */
export async function withApp<T>(
  context: Context,
  work: (app: App) => Promise<T>,
  preparation: Preparation = 'check',
): Promise<T> {
  const { openApp } = await import('../app/app.ts')
  const { config, log, signal } = context
  return closeAfter(await openApp(config, log, { signal, byHand: true, preparation }), work)
}

/** The same for a verb of one account. */
export function withLocalAccount<T>(
  context: Context,
  chosen: Chosen,
  work: (app: LocalApp, name: string) => Promise<T>,
): Promise<T> {
  return withLocalApp(context, async (app) => work(app, await findName(app, chosen)))
}

/** The same for a verb of one account. */
export function withAccount<T>(
  context: Context,
  chosen: Chosen,
  work: (app: App, name: string) => Promise<T>,
): Promise<T> {
  return withApp(context, async (app) => work(app, await findName(app, chosen)))
}

/** Runs work that shows its progress in a line. */
export async function withProgress<T>(
  context: Context,
  what: string,
  work: (line: ProgressLine) => Promise<T>,
): Promise<T> {
  const line = makeProgressLine(context, what)
  try {
    return await work(line)
  } finally {
    line.close()
  }
}

async function findName(app: Pick<LocalApp, 'store'>, { account, verb }: Chosen): Promise<string> {
  const { findChosenAccount } = await import('../app/local-app.ts')
  return findChosenAccount(app, { name: account, verb })
}
