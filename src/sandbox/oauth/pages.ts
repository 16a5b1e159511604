import { escapeXml } from '../workouts/files.ts'

/** The page where the rider signs in; the form goes back to the same address. */
export function makeLoginPage(input: { action: string; failed: boolean }): string {
  const note = input.failed ? '<p role="alert">Wrong username or password.</p>' : ''
  return makePage(
    'Sign in',
    `${note}<form method="post" action="${escapeXml(input.action)}">
<input type="hidden" name="step" value="login">
<label>Username <input name="username" autocomplete="username" required></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Sign in</button>
</form>`,
  )
}

/** The page that names the application and the data it asks for (GET /oauth/authorize). */
export function makeConsentPage(input: {
  action: string
  application: string
  username: string
  csrf: string
}): string {
  return makePage(
    `Allow ${input.application}?`,
    `<p><strong>${escapeXml(input.application)}</strong> asks for access to the data of ${escapeXml(input.username)}:</p>
<ul><li>Activities</li><li>Workouts</li><li>Performance data</li></ul>
<form method="post" action="${escapeXml(input.action)}">
<input type="hidden" name="step" value="consent">
<input type="hidden" name="csrf" value="${escapeXml(input.csrf)}">
<button type="submit" name="decision" value="approve">Approve</button>
<button type="submit" name="decision" value="deny">Deny</button>
</form>`,
  )
}

/** The page for a request that must not be sent back to where it claims to come from. */
export function makeRefusalPage(reason: string): string {
  return makePage('This request cannot be served', `<p>${escapeXml(reason)}</p>`)
}

function makePage(title: string, body: string): string {
  const head = `<meta charset="utf-8"><title>${escapeXml(title)}</title>`
  return `<!doctype html>\n<html lang="en"><head>${head}</head><body><h1>${escapeXml(title)}</h1>\n${body}\n</body></html>\n`
}
