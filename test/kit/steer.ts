/** Sends a request to the control API of a sandbox, below /_sandbox/. Throws if the sandbox refuses it. */
export async function steer<T = Record<string, unknown>>(
  sandboxUrl: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<T> {
  const answer = await fetch(`${sandboxUrl}/_sandbox/${path}`, {
    method,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} /_sandbox/${path}: ${answer.status} ${text}`)
  return JSON.parse(text || '{}') as T
}
