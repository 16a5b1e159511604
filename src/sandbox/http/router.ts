import type { World } from '../state/world.ts'
import type { Reply } from './reply.ts'
import type { Request } from './request.ts'

/** The parts of the path that a pattern names, percent-decoded. */
export type Params = Readonly<Record<string, string>>

/** One line of the table of routes; `:name` in the pattern stands for one part of the path. */
export type Route = {
  method: string
  pattern: string
  about: string
  answer: (world: World, request: Request, params: Params) => Promise<Reply> | Reply
}

/** Finds the route of a request; `allowed` lists the methods of a known path when the method is wrong. */
export function findRoute(
  routes: readonly Route[],
  request: { method: string; path: string },
): { route: Route; params: Params } | { allowed: string[] } {
  const allowed: string[] = []
  for (const route of routes) {
    const params = matchPath(route.pattern, request.path)
    if (!params) continue
    if (route.method === request.method) return { route, params }
    allowed.push(route.method)
  }
  return { allowed }
}

function matchPath(pattern: string, path: string): Params | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, part] of wanted.entries()) {
    const value = given[i] ?? ''
    if (part.startsWith(':') && value !== '') params[part.slice(1)] = percentDecode(value)
    else if (part !== value) return undefined
  }
  return params
}

function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
