/**
 * Describes values by their keys and types, a key a line and what it holds below it; a key that not every object has ends with `?`.
 * Values that stand beside each other, such as the items of a list, are described as one.
 */
export function describeShape(values: readonly unknown[], indent = ''): string[] {
  const objects = values.filter(isObject)
  const keys = [...new Set(objects.flatMap((object) => Object.keys(object)))]
  const isOfAll = (key: string) => objects.every((object) => key in object)
  // Which object comes first may differ from machine to machine.
  const others = keys.filter((key) => !isOfAll(key)).toSorted()
  return [...keys.filter(isOfAll), ...others].flatMap((key) => {
    const held = objects.filter((object) => key in object).map((object) => object[key])
    const mark = held.length < objects.length ? '?' : ''
    return [
      `${indent}${key}${mark}: ${typesOf(held)}`,
      ...describeShape(held.flatMap(itemsOf), `${indent}  `),
    ]
  })
}

function typesOf(values: readonly unknown[]): string {
  return [...new Set(values.map(typeOf))].toSorted().join(' or ')
}

export function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.flatMap(itemsOf) : [value]
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return value.length === 0 ? 'empty list' : `list of ${typesOf(value)}`
  if (typeof value !== 'string') return typeof value
  return /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(value) ? 'time' : 'text'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
