/** What has been asked for since the start or the last reset. */
export type Counts = {
  requests: Record<string, number>
  uploads: { accepted: number; refused: number }
  tokens: { password: number; refresh_token: number; authorization_code: number; rejected: number }
  faults: number
}

/** Makes counts of nothing. */
export function makeCounts(): Counts {
  return {
    requests: {},
    uploads: { accepted: 0, refused: 0 },
    tokens: { password: 0, refresh_token: 0, authorization_code: 0, rejected: 0 },
    faults: 0,
  }
}

/** Counts a request under its method and route pattern. */
export function countRequest(counts: Counts, method: string, pattern: string): void {
  const key = `${method} ${pattern}`
  counts.requests[key] = (counts.requests[key] ?? 0) + 1
}
