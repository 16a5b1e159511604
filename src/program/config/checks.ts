import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { z } from 'zod'
import { normalizePostgresUrl, tlsProblemOf } from '../../kit/postgres-url.ts'
import { parseRedisUrl } from '../../kit/redis/redis-url.ts'
import { parseDuration, SECOND } from '../../kit/time.ts'

/** Makes a check from `parse`; `problem` is the sentence about a value for which `parse` returns undefined. */
export const parsed = <T>(parse: (text: string) => T | undefined, problem: string) =>
  z.string().transform((text, context) => {
    const value = parse(text)
    if (value !== undefined) return value
    context.addIssue(problem)
    return z.NEVER
  })

/** A duration of at least a second, such as 90s or 15m, in ms. */
export const anyDuration = parsed((text) => {
  const ms = parseDuration(text) ?? 0
  return ms >= SECOND ? ms : undefined
}, 'is not a duration of a second or more; write for example 90s, 15m, 1h or 1d')

export const duration = (fallback: string) => anyDuration.prefault(fallback)

export const numberWithin = (least: number, most: number) =>
  parsed((text) => {
    const number = Number(text)
    return /^\d+$/.test(text) && number >= least && number <= most ? number : undefined
  }, `is not a whole number from ${least} to ${most}`)

export const wholeNumber = (fallback: number, least: number, most: number) =>
  numberWithin(least, most).prefault(String(fallback))

/** true, 1 or yes; false, 0 or no. */
export const yesNo = (fallback: boolean) =>
  parsed((text) => {
    const isYes = ['true', '1', 'yes'].includes(text.toLowerCase())
    return isYes || ['false', '0', 'no'].includes(text.toLowerCase()) ? isYes : undefined
  }, 'is neither true nor false').prefault(String(fallback))

/** A folder, as a full path; undefined if it is not set. */
export const folder = z
  .string()
  .transform((path) => resolve(path))
  .optional()

/** Reports whether the user or the password of a URL contains a character that ends it early, or a % that encodes nothing. */
const hasRawLogin = (text: string) => {
  const [, scheme = '', port] = /^([^:/]+):\/\/[^@/?#]*:([^@/?#]*)[/?#].*@/s.exec(text) ?? []
  // Web addresses may contain an @ after the port.
  if (port !== undefined) return !scheme.startsWith('http') || !/^\d+$/.test(port)
  try {
    decodeURIComponent(new URL(text).username + new URL(text).password)
    return false
  } catch {
    return text.includes('@')
  }
}

const RAW_LOGIN =
  'has one of the characters @ # % / ? in user or password; write it percent-encoded: %40, %23, %25, %2F, %3F'

/** A URL with one of the protocols; `hint` is the sentence about any other value. */
export const url = (protocols: readonly string[], hint: string, missing?: string) =>
  z.string(missing).superRefine((text, context) => {
    const known = URL.canParse(text) && protocols.includes(new URL(text).protocol)
    if (hasRawLogin(text)) context.addIssue(RAW_LOGIN)
    else if (!known) context.addIssue(hint)
  })

/** A web address that is opened unchanged: browsers and `fetch` accept no user name in it, and do not send a fragment. */
export const webAddress = (hint: string, missing?: string) =>
  url(['http:', 'https:'], hint, missing).superRefine((text, context) => {
    const { username = '', password, hash = '' } = URL.canParse(text) ? new URL(text) : {}
    if (username || password)
      context.addIssue('holds a user name or password, which is not sent; write the address without it')
    else if (hash) context.addIssue('has a fragment; write the address alone')
  })

const orUndefined = <T>(read: () => T): T | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Makes a check that passes if `read` does not throw. */
export const isReadBy = (read: (text: string) => unknown) => (text: string) =>
  orUndefined(() => [read(text)]) !== undefined

/** The first byte of DER, which is a sequence of ASN.1. */
const DER = 0x30

/** The path of a PEM file with certificates; Node ignores any other file, with its own warning. */
export const authorities = z.string().superRefine((path, context) => {
  const file = orUndefined(() => readFileSync(path))
  if (file === undefined) context.addIssue('names a file that cannot be read')
  else if (file.length === 0)
    context.addIssue('names an empty file; write the certificate of the authority into it, in PEM')
  else if (file[0] === DER)
    context.addIssue(
      'names a file in DER, and must name one in PEM, as openssl x509 -inform der -in "$NODE_EXTRA_CA_CERTS" -out ca.pem makes it',
    )
  else if (!orUndefined(() => new X509Certificate(file)))
    context.addIssue('names a file that holds no whole certificate in PEM')
})

/** The user that the driver signs in as if the URL names none, as psql does; a container may have no such user. */
const OWN_NAME = process.env[process.platform === 'win32' ? 'USERNAME' : 'USER']

/** A Postgres URL as the driver accepts it. */
export const postgresUrl = z.string().transform((text, context) => {
  const example = 'write for example postgres://user:password@host:5432/database'
  const url = normalizePostgresUrl(text)
  const unreadable = /^postgres(?:ql)?:.*[@#%]/s.test(text) ? RAW_LOGIN : `is not a Postgres URL; ${example}`
  const hasUser = OWN_NAME || /:\/\/[^/@:]+(?::[^/]*)?@|[?&]user=/.test(text)
  const problem = (url && tlsProblemOf(url)) ?? (hasUser ? undefined : `names no user; ${example}`)
  if (url !== undefined && problem === undefined) return url
  context.addIssue((url && problem) ?? unreadable)
  return z.NEVER
})

/** A Redis URL, also for sentinels and for several nodes of a Cluster. */
export const redisUrl = z.string().superRefine((text, context) => {
  if (parseRedisUrl(text)) return
  if (/^redis.*[@%]/s.test(text)) context.addIssue(RAW_LOGIN)
  else if (/[?&]prefix=/.test(text))
    context.addIssue('has a prefix with other signs than letters, digits and . : _ -')
  else
    context.addIssue(
      'is not a Redis URL; write for example redis://host:6379, or redis-sentinel://host:26379,host:26379/0#name',
    )
})
