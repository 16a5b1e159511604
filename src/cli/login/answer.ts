import { ConfigError } from '../../kit/errors.ts'

/** Parses the address a browser was redirected to; the service's refusal becomes a sentence. */
export function parseAnswer(address: string): { code: string; state: string | undefined } {
  const query = URL.canParse(address) ? new URL(address).searchParams : new URLSearchParams()
  const refusal = query.get('error')
  if (refusal)
    throw new ConfigError('login_refused', `the service did not grant access (${refusal.slice(0, 60)})`)
  const code = query.get('code')
  if (!code)
    throw new ConfigError(
      'no_code',
      'that address holds no code; paste the whole address the browser ended at',
    )
  return { code, state: query.get('state') ?? undefined }
}
