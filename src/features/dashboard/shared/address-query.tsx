import { useEffect, useState } from 'preact/hooks'

type Values = Readonly<Record<string, string | number | null | undefined>>

/** Formats values as the part of an address from `?` on, without the empty ones; empty without any. */
export function formatQuery(values: Values): string {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)]))
  return given.length > 0 ? `?${query}` : ''
}

/**
 * Returns these values of the page's address, and a function that changes the address: with `step` Back returns to the one before. The same
 * address gives the same object.
 */
export function useAddress<Key extends string>(keys: readonly Key[]) {
  const [values, setValues] = useState(() => readQuery(keys))
  useEffect(() => {
    const onBack = () => setValues(readQuery(keys))
    addEventListener('popstate', onBack)
    return () => removeEventListener('popstate', onBack)
  }, [])
  const change = (next: Partial<Record<Key, string>>, { step }: { step: boolean }) => {
    const address = location.pathname + formatQuery(next)
    if (step) history.pushState(null, '', address)
    else history.replaceState(null, '', address)
    setValues(next)
  }
  return [values, change] as const
}

/** Reads these keys of the page's address; an empty one is missing. */
function readQuery<Key extends string>(keys: readonly Key[]): Partial<Record<Key, string>> {
  const given = new URLSearchParams(location.search)
  return Object.fromEntries(keys.map((key) => [key, given.get(key)]).filter(([, value]) => value))
}
