import { useEffect, useState } from 'preact/hooks'

type Values = Readonly<Record<string, string | number | null | undefined>>

/** Formats values as a query string with `?`, without empty values; returns an empty text if all are empty. */
export function formatQuery(values: Values): string {
  const given = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  )
  const query = new URLSearchParams(given.map(([key, value]) => [key, String(value)]))
  return given.length > 0 ? `?${query}` : ''
}

/**
 * Returns the values of these keys in the page's URL, and a function that changes the URL. With `step`, the function adds an entry to the
 * browser's history. The same URL always gives the same object.
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

/** Reads the values of these keys from the page's URL, without empty values. */
function readQuery<Key extends string>(keys: readonly Key[]): Partial<Record<Key, string>> {
  const given = new URLSearchParams(location.search)
  return Object.fromEntries(keys.map((key) => [key, given.get(key)]).filter(([, value]) => value))
}
