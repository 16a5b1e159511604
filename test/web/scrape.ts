/** Every line of a page in Prometheus's text format, by name and labels as they stand there. */
export function parseMetrics(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const cut = line.lastIndexOf(' ')
      const value = line.slice(cut + 1)
      return [line.slice(0, cut), value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value)]
    }),
  )
}
