import type { Echo } from './hostile.ts'

/** The addresses that a token is sent to, and the one that gives tokens. */
export const DATA = /^\/oauth\/(?!token)/
export const TOKEN = /^\/oauth\/token$/
/** The answer after which a token is renewed. */
export const unauthorized: Echo = (said) => ({ status: 401, body: said })

/** Ways of saying everything again, by what they look like. */
export const ECHOES = {
  refusal: (said) => ({ status: 403, body: { success: false, error: said, message: said } }),
  failure: (said) => ({ status: 500, body: said }),
  limit: (said) => ({ status: 429, body: said, headers: { 'retry-after': '1', 'x-why': said } }),
  page: (said) => ({ body: `<html>${said}</html>`, headers: { 'content-type': 'text/html' } }),
  unsuccessful: (said) => ({ body: { success: false, error: said, message: said } }),
  cutJson: (said) => ({ body: `{"access_token":"${said}`, headers: { 'content-type': 'application/json' } }),
  shortBody: (said) => ({ body: `{"access_token":"${said}"`, short: true }),
  oddShape: (said) => ({
    body: { success: said, activities: said, workouts: said, access_token: said, [said]: said },
  }),
  redirect: (said) => ({
    status: 302,
    body: '',
    headers: { location: `https://elsewhere.invalid/?t=${encodeURIComponent(said)}` },
  }),
  endedGrant: (said) => ({ status: 400, body: { error: 'invalid_grant', error_description: said } }),
  refusedClient: (said) => ({ status: 401, body: { error: 'invalid_client', error_description: said } }),
} satisfies Record<string, Echo>
