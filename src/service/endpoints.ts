import type { Hold } from '../kit/semaphore.ts'
import { type LoginState, refreshIfDue, SHARED_READ_MS, withToken } from './account-login.ts'
import { type CallDeps, callOnce, callRead, endpointUrl, fileUrl, objectUrl } from './calls.ts'
import type { Endpoint, RawAnswer, ServiceRequest } from './http-message.ts'
import type { RefreshDeps } from './refresh-tokens.ts'
import {
  type AnswerContent,
  badShape,
  parseFileText,
  parseJsonObject,
  quoteRefusal,
} from './service-errors.ts'
import type { Parsed } from './wire/lenient.ts'
import { scanSamples } from './wire/scan-samples.ts'
import { seekMember } from './wire/seek-member.ts'
import {
  parseActivity,
  parseActivityList,
  type WireActivity,
  type WireActivityList,
} from './wire/wire-activity.ts'
import { parseTrainingInfo, type WireTrainingInfo } from './wire/wire-training-info.ts'
import { encodeUpload, parseUpload, type UploadFile, type WireUpload } from './wire/wire-upload.ts'
import {
  parseWorkout,
  parseWorkoutList,
  type WireWorkout,
  type WireWorkoutList,
} from './wire/wire-workouts.ts'

/**
 * A parsed answer: its decoded bytes (and the gzipped ones, when they came in gzip), the time of the request by our clock, and
 * the time of the answer by the service's clock (undefined without a Date header).
 */
export type Answer<T> = {
  value: T
  body: Buffer
  gzipped?: Buffer | undefined
  requestedAt: Date
  serviceTime: Date | undefined
}

/** The endpoints that need a rider's token, for one account. Every call is paced and may throw every kind of error. */
export type AccountService = {
  /** Lists activities started in `from` to `to`, with `updatedFrom` only those changed since (endpoint 9). */
  listActivities(
    input: { from: Date; to: Date; updatedFrom?: Date },
    signal?: AbortSignal,
  ): Promise<Answer<WireActivityList>>
  /** Fetches one activity, with `samples` also its samples (endpoint 8); nobody else gets large ones until `hold` is released. */
  fetchActivity(
    path: string,
    input: { samples: boolean; hold?: Hold | undefined },
    signal?: AbortSignal,
  ): Promise<Answer<WireActivity>>
  /** Fetches signature, status, loads and the workout of the day (endpoint 3). */
  fetchTrainingInfo(
    input: { format?: 'erg' | 'zwo' },
    signal?: AbortSignal,
  ): Promise<Answer<WireTrainingInfo>>
  /** Downloads a workout file as text, from the service's own origin only (endpoint 4). */
  downloadWorkout(url: string, signal?: AbortSignal): Promise<Answer<string>>
  /** Lists the rider's workouts (endpoint 6). */
  listWorkouts(signal?: AbortSignal): Promise<Answer<WireWorkoutList>>
  /** Fetches a workout resolved for the rider's signature (endpoint 7). */
  fetchWorkout(path: string, signal?: AbortSignal): Promise<Answer<WireWorkout>>
  /** Uploads a FIT file, never twice by itself (endpoint 10); TransientError.requestSent says whether it may have arrived. */
  uploadFit(file: UploadFile, signal?: AbortSignal): Promise<Answer<WireUpload>>
  /** Renews the token when it is past half its life. */
  refreshTokenIfDue(signal?: AbortSignal): Promise<'fresh' | 'refreshed' | 'parked'>
}

/** Makes the endpoints of one account. */
export function makeAccountService(deps: RefreshDeps, state: LoginState): AccountService {
  const { baseUrl, queue } = state.account

  const sendElsewhere = (endpoint: Endpoint, signal: AbortSignal | undefined) => async (token: string) => {
    const path = endpoint === 'GET /oauth/training_info' ? '/oauth/workouts' : '/oauth/training_info'
    const target = {
      endpoint: `GET ${path}`,
      url: endpointUrl(baseUrl, path),
      what: 'check of the login',
    } as const
    const request: ServiceRequest = { ...target, method: 'GET', authorization: `Bearer ${token}` }
    parseJsonObject(await callRead(deps.calls, { request, queue }, signal), target.what)
  }

  const read = <T>(
    target: Pick<ServiceRequest, 'endpoint' | 'url' | 'what' | 'hasSamples' | 'hold'>,
    interpret: (answer: RawAnswer, what: string) => T,
    signal: AbortSignal | undefined,
    maxAgeMs?: number,
  ): Promise<Answer<T>> =>
    withToken(
      deps,
      state,
      {
        send: async (token) => {
          const request: ServiceRequest = { ...target, method: 'GET', authorization: `Bearer ${token}` }
          const answer = await callRead(deps.calls, { request, queue }, signal)
          return makeAnswer(answer, interpret(answer, target.what))
        },
        sendElsewhere: sendElsewhere(target.endpoint, signal),
      },
      { signal, maxAgeMs },
    )

  return {
    async listActivities(input, signal) {
      const query = {
        from: unixSeconds(input.from, Math.floor),
        to: unixSeconds(input.to, Math.ceil),
        ...(input.updatedFrom && { updated_from: unixSeconds(input.updatedFrom, Math.floor) }),
      }
      const url = endpointUrl(baseUrl, '/oauth/activity', query)
      const what = 'activity list'
      return read({ endpoint: 'GET /oauth/activity', url, what }, jsonBy(parseActivityList), signal)
    },
    async fetchActivity(path, input, signal) {
      const query = { include_session_data: input.samples ? '1' : '0' }
      const url = objectUrl(baseUrl, '/oauth/activity', path, query)
      const what = `activity ${shorten(path)}`
      const { samples: hasSamples, hold } = input
      const target = { endpoint: 'GET /oauth/activity/<id>', url, what, hasSamples, hold } as const
      return read(target, readActivity, signal, SHARED_READ_MS)
    },
    async fetchTrainingInfo(input, signal) {
      const url = endpointUrl(baseUrl, '/oauth/training_info', input.format ? { format: input.format } : {})
      const what = 'training info'
      return read({ endpoint: 'GET /oauth/training_info', url, what }, jsonBy(parseTrainingInfo), signal)
    },
    async downloadWorkout(address, signal) {
      const what = 'file of the workout of the day'
      const url = fileUrl(baseUrl, address, what)
      return read(
        { endpoint: 'GET /oauth/workout-download/<workout_id>.<ext>', url, what },
        parseFileText,
        signal,
      )
    },
    async listWorkouts(signal) {
      const url = endpointUrl(baseUrl, '/oauth/workouts')
      const what = 'workout list'
      return read({ endpoint: 'GET /oauth/workouts', url, what }, jsonBy(parseWorkoutList), signal)
    },
    async fetchWorkout(path, signal) {
      const url = objectUrl(baseUrl, '/oauth/workout', path)
      const what = `workout ${shorten(path)}`
      return read({ endpoint: 'GET /oauth/workout/<path>', url, what }, jsonBy(parseWorkout), signal)
    },
    async uploadFit(file, signal) {
      const what = `upload of ${shorten(file.fileName)}`
      const endpoint = 'POST /oauth/upload'
      const url = endpointUrl(baseUrl, '/oauth/upload')
      const send = async (token: string): Promise<Answer<WireUpload>> => {
        const body = await encodeUpload(file)
        const authorization = `Bearer ${token}`
        const request: ServiceRequest = { method: 'POST', endpoint, url, what, authorization, body }
        const answer = await callOnce(deps.calls, { request, queue }, signal)
        const words = quoteRefusal(answer, authorization)
        return makeAnswer(answer, jsonBy(parseUpload, words)(answer, what))
      }
      return withToken(deps, state, { send, sendElsewhere: sendElsewhere(endpoint, signal) }, { signal })
    },
    refreshTokenIfDue: (signal) => refreshIfDue(deps, state, signal),
  }
}

/** Lists the default workouts, without a token (service document, endpoint 5). */
export async function listDefaultWorkouts(
  deps: CallDeps,
  baseUrl: string,
  signal?: AbortSignal,
): Promise<Answer<WireWorkoutList>> {
  const what = 'default workouts'
  const url = endpointUrl(baseUrl, '/oauth/workout')
  const request: ServiceRequest = {
    method: 'GET',
    endpoint: 'GET /oauth/workout',
    url,
    what,
    authorization: undefined,
  }
  const answer = await callRead(deps, { request, queue: what }, signal)
  return makeAnswer(answer, jsonBy(parseWorkoutList)(answer, what))
}

function jsonBy<T>(parse: (wire: Record<string, unknown>) => Parsed<T>, words = '') {
  return (answer: RawAnswer, what: string): T => {
    const parsed = parse(parseJsonObject(answer, what, words))
    if (!parsed.ok) throw badShape(what, parsed.reason)
    return parsed.value
  }
}

function makeAnswer<T>(answer: RawAnswer, value: T): Answer<T> {
  const { body, gzipped, requestedAt, serviceTime } = answer
  return { value, body, gzipped, requestedAt, serviceTime }
}

function unixSeconds(moment: Date, round: (seconds: number) => number): string {
  return String(round(moment.getTime() / 1000))
}

/** Shortens an object's name for a message. */
function shorten(name: string): string {
  return name.length > 80 ? `${name.slice(0, 79)}…` : name
}

/**
 * Reads an answer of endpoint 8 (service document, "Activity detail"), new or stored. The samples, which are nearly all of it, are read from
 * the bytes into columns, and the rest as JSON; an answer whose samples are not flat objects is parsed as JSON altogether. Throws
 * the errors of parseJsonObject, and UnexpectedResponseError `bad_shape`.
 */
export function readActivity(answer: AnswerContent, what: string): WireActivity {
  const { body } = answer
  const start = seekMember(body, 'session_data')
  const scanned = start === undefined ? undefined : scanSamples(body, start)
  if (start !== undefined && scanned) {
    const rest = Buffer.concat([body.subarray(0, start), Buffer.from('null'), body.subarray(scanned.end)])
    const wire = parseJsonObject({ ...answer, body: rest }, what)
    // Of a member that comes twice, JSON.parse keeps the last.
    if (wire.session_data === null) return parsedOrThrow(parseActivity(wire, scanned.data), what)
  }
  return parsedOrThrow(parseActivity(parseJsonObject(answer, what)), what)
}

function parsedOrThrow(parsed: ReturnType<typeof parseActivity>, what: string): WireActivity {
  if (!parsed.ok) throw badShape(what, parsed.reason)
  return parsed.value
}
