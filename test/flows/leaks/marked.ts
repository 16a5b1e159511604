/** Every secret of these tests contains this word. */
const MARK = 'sEcReT'

/** The secrets of a whole installation, each in a form that its place accepts. */
export const SECRETS = {
  password: `password&${MARK} 1`,
  wrongPassword: `wrong&${MARK}`,
  clientSecret: `client-${MARK}`,
  code: `code-${MARK}`,
  httpToken: `http-token-${MARK}`,
  databasePassword: `database-${MARK}`,
  redisPassword: `redis-${MARK}`,
  address: `address-${MARK}`,
  key: Buffer.from(`key-${MARK}-`.repeat(3).slice(0, 32)).toString('base64'),
} as const

/** The mark as plain text, in hexadecimal, and in base64, which depends on its offset. */
const FORMS: readonly string[] = [
  MARK,
  Buffer.from(MARK).toString('hex'),
  ...['', 'x', 'xx'].map((before) => {
    const text = Buffer.from(`${before}${MARK}xx`).toString('base64')
    const start = Math.ceil((before.length * 8) / 6)
    const end = Math.floor(((before.length + MARK.length) * 8) / 6)
    return text.slice(start, end)
  }),
]

/** Lists the places where a text contains a marked secret or a token, each with the text around it. */
export function findLeaks(text: string, tokens: readonly string[] = []): string[] {
  return [...FORMS, ...tokens].flatMap((form) => {
    const at = text.indexOf(form)
    return at < 0 ? [] : [text.slice(Math.max(0, at - 150), at + 60)]
  })
}
