import { ConfigError } from '../kit/errors.ts'

/** Parses the value of an option that is a whole number. Throws ConfigError `bad_option`. */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new ConfigError('bad_option', `"${text.slice(0, 40)}" is not a whole number`)
}
