import { createHash } from 'node:crypto'

/**
 * Hashes what the service says of an activity apart from its samples: name, description and the whole summary, unknown
 * fields included. Key order does not matter, so a service that shuffles its keys does not look like an edit.
 */
export function hashSummary(wire: { name?: unknown; description?: unknown; summary?: unknown }): string {
  const identity = [wire.name ?? null, wire.description ?? null, wire.summary ?? null]
  return createHash('sha256').update(JSON.stringify(identity, sortKeys)).digest('hex')
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
