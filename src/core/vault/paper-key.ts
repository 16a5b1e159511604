import { createHash } from 'node:crypto'
import { ConfigError } from '../../kit/errors.ts'

/** Each group is a multiple of 11. One wrong digit, or two swapped adjacent digits, make the group no multiple of 11, so each group reveals its typing error. */
const FACTOR = 11
const KEY_WORDS = 16
const GROUPS = KEY_WORDS + 1
const GROUPS_A_LINE = 6

/** Formats a 32-byte key as 17 groups of six digits: 16 with 16 bits each and a checksum. Each line begins with the number of its first group. */
export function formatPaperKey(key: Buffer): string[] {
  const groups = [...wordsOf(key), checksumOf(key)].map((word) => String(word * FACTOR).padStart(6, '0'))
  const starts = groups.flatMap((_, at) => (at % GROUPS_A_LINE === 0 ? [at] : []))
  return starts.map(
    (at) => `${String(at + 1).padStart(2)}: ${groups.slice(at, at + GROUPS_A_LINE).join(' ')}`,
  )
}

/**
 * Parses the keys in a string: groups in formatPaperKey's form, between lines of words, or one key in base64 as in a key file. Throws
 * ConfigError `paper_key`, which names a wrong group by its number and shows none of its digits.
 */
export function parsePaperKeys(text: string): Buffer[] {
  if (/^[\w+/]{43}=$/.test(text.trim())) return [Buffer.from(text.trim(), 'base64')]
  const lines = text.split('\n').filter((line) => !/[a-z]{3}/i.test(line))
  const groups = lines.flatMap((line) => line.replace(/^\s*\d+:/, '').match(/[^\s-]+/g) ?? [])
  const words = groups.map((group, at) => {
    const word = /^\d{6}$/.test(group) ? Number(group) / FACTOR : Number.NaN
    if (Number.isInteger(word) && word <= 0xffff) return word
    throw wrong(`group ${(at % GROUPS) + 1} has a typing error`)
  })
  if (words.length === 0 || words.length % GROUPS > 0)
    throw wrong(`a key has ${GROUPS} groups of six digits, but the text has ${words.length}`)
  return words.flatMap((_, at) => (at % GROUPS === 0 ? [joinWords(words.slice(at, at + GROUPS))] : []))
}

function joinWords(words: readonly number[]): Buffer {
  const key = Buffer.alloc(2 * KEY_WORDS)
  for (const [at, word] of words.slice(0, KEY_WORDS).entries()) key.writeUInt16BE(word, 2 * at)
  if (words[KEY_WORDS] === checksumOf(key)) return key
  throw wrong('each group is valid, but they are from several keys or in the wrong order')
}

const wordsOf = (key: Buffer) => Array.from({ length: KEY_WORDS }, (_, at) => key.readUInt16BE(2 * at))
const checksumOf = (key: Buffer) => createHash('sha256').update(key).digest().readUInt16BE()

function wrong(what: string): ConfigError {
  return new ConfigError(
    'paper_key',
    `this is not a key: ${what}; compare it with the output of: musette key export`,
  )
}
