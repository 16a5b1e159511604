/** A source of numbers in [0, 1), determined by its seed. */
export type Random = () => number

/** Makes a random source; the seed is the joined parts. */
export function makeRandom(...parts: Array<string | number>): Random {
  let state = hash(parts.join('\u0001'))
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Draws from an approximate normal distribution with mean 0 and standard deviation 1 (a sum of four draws). */
export function drawBell(random: Random): number {
  return (random() + random() + random() + random() - 2) * 1.7320508
}

export function drawBetween(random: Random, low: number, high: number): number {
  return low + (high - low) * random()
}

export function drawOne<T>(random: Random, choices: ReadonlyArray<readonly [T, number]>): T {
  const total = choices.reduce((sum, [, weight]) => sum + weight, 0)
  let left = random() * total
  for (const [choice, weight] of choices) {
    left -= weight
    if (left < 0) return choice
  }
  return (choices[choices.length - 1] as readonly [T, number])[0]
}

/** Draws one of the choices with equal chances. */
export function drawEven<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random() * choices.length)] as T
}

/** Makes a word of `length` lower-case letters and digits, like the identifiers in paths. */
export function makeWord(random: Random, length: number): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
  return Array.from({ length }, () => letters[Math.floor(random() * letters.length)]).join('')
}

/** Computes the 32-bit FNV-1a hash of a string. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193)
  return value >>> 0
}
