/**
 * Does what a rider does in the browser at the address of a login: signs in with the name as password, and approves. Returns the address to
 * which the browser is redirected.
 */
export async function approve(authorizeUrl: string, username = 'rider'): Promise<string> {
  const post = (fields: Record<string, string>, cookie = '') =>
    fetch(authorizeUrl, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { cookie },
      redirect: 'manual',
    })
  const signedIn = await post({ step: 'login', username, password: username })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const page = await (await fetch(authorizeUrl, { headers: { cookie } })).text()
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const sent = await post({ step: 'consent', decision: 'approve', csrf }, cookie)
  return sent.headers.get('location') ?? ''
}
