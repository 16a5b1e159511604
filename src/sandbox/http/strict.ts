import { isObject } from '../../kit/json.ts'
import type { World } from '../world.ts'
import { ReplyError, refuse } from './reply.ts'
import type { Request } from './request.ts'

// What `--strict` knows of the service document. Everything else that a client sends is a deviation: it is counted and reported, and has no effect.

const SECONDS = /^-?\d+$/
/** The query parameters by route, with the pattern of their values. */
const QUERY: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  'GET /oauth/authorize': { client_id: /./, redirect_uri: /./, response_type: /^code$/, state: /^/ },
  'GET /oauth/training_info': { format: /^(erg|zwo)$/ },
  'GET /oauth/activity/:path': { include_session_data: /^[01]$/ },
  'GET /oauth/activity': { from: SECONDS, to: SECONDS, updated_from: SECONDS },
}

/** The form fields in addition to `grant_type`, by the value of `grant_type`. */
const FORM: Readonly<Record<string, readonly string[]>> = {
  password: ['username', 'password'],
  refresh_token: ['refresh_token'],
  authorization_code: ['code', 'redirect_uri'],
}

/** In a strict sandbox, counts the parts of a request that the service document does not define, and reports each kind once. */
export function deviate(world: World, where: string, what: string): void {
  if (!world.strict) return
  const said = `${where}: ${what}`
  const times = world.deviations.get(said) ?? 0
  world.deviations.set(said, times + 1)
  if (times === 0) world.strict(said)
}

/** Checks the address, query and token of a request. Throws a refusal if the token is in the query, which the service document does not allow. */
export function checkRequest(world: World, where: string, { query, message }: Request): void {
  if (!world.strict) return
  const known = QUERY[where === 'POST /oauth/authorize' ? 'GET /oauth/authorize' : where] ?? {}
  for (const [name, value] of query) {
    if (!known[name]) deviate(world, where, `the query parameter ${name}`)
    else if (!known[name].test(value)) deviate(world, where, `the value of the query parameter ${name}`)
  }
  if (where === 'GET /oauth/workout' && message.headers.authorization !== undefined)
    deviate(world, where, 'a token, which the default list does not need')
  if (query.has('access_token'))
    throw new ReplyError(refuse(401, 'the token comes in the Authorization header'))
}

/** Checks the client credentials, content type and fields of a token request. Reports whether the credentials may be used. */
export function checkForm(world: World, { message }: Request, form: URLSearchParams): boolean {
  if (!world.strict) return true
  const where = 'POST /oauth/token'
  const { authorization = '', 'content-type': type = '' } = message.headers
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) deviate(world, where, 'a body that is not a form')
  const known = FORM[form.get('grant_type') ?? ''] ?? []
  for (const name of form.keys())
    if (name !== 'grant_type' && !known.includes(name)) deviate(world, where, `the form field ${name}`)
  const pair = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString()
  const isBasic = /^Basic /.test(authorization)
  if (!isBasic) deviate(world, where, 'client credentials that do not come by HTTP Basic')
  else if (!world.clients.some(({ id, secret }) => pair === `${id}:${secret}`) && pair.includes('%'))
    deviate(world, where, 'client credentials with percent signs')
  else return true
  return false
}

export function checkParts(world: World, names: Iterable<string>): void {
  for (const name of names) if (name !== 'name') deviate(world, 'POST /oauth/upload', `the part ${name}`)
}

/** The fields of an object in the document; true for a value without fields of its own. */
type Shape = { readonly [name: string]: Shape | true }

const named = (names: string): Shape => Object.fromEntries(names.split(' ').map((name) => [name, true]))
const PARTS = named('ftp hie pp')

/** The fields of an activity's detail. */
export const DETAIL: Shape = {
  ...named('success name description'),
  session_data: named('power unix_time mpa cad alt hr spd tgt lat lng dist tws xds'),
  summary: {
    ...named('xss xlss xhss xpss xep mep tws sp sfd focus specificity difficulty difficulty_rating distance'),
    ...named('duration medal breakthrough activity_type total_grams_carbs total_grams_fat training_status'),
    ...named('freshness street_view activity_map chart_view'),
    session: named('max_power avg_power max_cadence total_elevation_gain total_calories'),
    ...{ sig: named('ftp atc pp'), prev_sig: named('ftp atc pp ltp') },
    start_date: named('date timezone_type timezone'),
    progression: { date: true, tl: PARTS, rl: PARTS, form: true },
  },
}

/** Returns a value with only the fields of the document. */
export function keepDocumented(value: unknown, shape: Shape | true): unknown {
  if (shape === true) return value
  if (Array.isArray(value)) return value.map((each) => keepDocumented(each, shape))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => {
      const below = shape[name]
      return below === undefined ? [] : [[name, keepDocumented(each, below)]]
    }),
  )
}
