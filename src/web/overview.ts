/** What the first page shows: one line an account, what failed, and what a person should type. */
export type Overview = {
  accounts: ReadonlyArray<{
    account: string
    login: string
    next_command: string | null
    activities: number
    mirrored: number
    wanted: number
    awaiting_samples: number
    failed: number
    samples: number
    newest_activity_at: Date | null
  }>
  failed_activities: ReadonlyArray<{ path: string; name: string | null; reason: string | null }>
}

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid #8884}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{background:#8882;padding:.1rem .3rem}`

/** Renders the overview as one page without scripts or foreign hosts. */
export function renderOverview(overview: Overview): string {
  const body =
    overview.accounts.length === 0
      ? '<p>No accounts yet. Run: <code>musette login</code></p>'
      : accountTable(overview)
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>musette</title><style>${STYLE}</style></head><body><h1>musette</h1>${body}${failures(overview)}</body></html>`
}

function accountTable({ accounts }: Overview): string {
  const rows = accounts.map((account) => {
    const login = account.next_command
      ? `${escapeHtml(account.login)}; run: <code>${escapeHtml(account.next_command)}</code>`
      : escapeHtml(account.login)
    const numbers = [
      account.activities,
      account.mirrored,
      account.wanted,
      account.awaiting_samples,
      account.failed,
      account.samples,
    ]
    const cells = numbers.map((number) => `<td class="n">${number.toLocaleString('en')}</td>`).join('')
    const newest = account.newest_activity_at?.toISOString().slice(0, 16).replace('T', ' ') ?? ''
    return `<tr><td>${escapeHtml(account.account)}</td><td>${login}</td>${cells}<td>${newest}</td></tr>`
  })
  const numeric = ['activities', 'mirrored', 'wanted', 'awaiting samples', 'failed', 'samples']
  const head = numeric.map((name) => `<th class="n">${name}</th>`).join('')
  return `<table><thead><tr><th>account</th><th>login</th>${head}<th>newest (UTC)</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function failures({ failed_activities: failed }: Overview): string {
  if (failed.length === 0) return ''
  const items = failed.map(
    ({ path, name, reason }) => `<li>${escapeHtml(name ?? path)}: ${escapeHtml(reason ?? '')}</li>`,
  )
  return `<h2>Failed, asked for again by themselves</h2><ul>${items.join('')}</ul>`
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
