/** Every secret of these tests holds this word. */
const MARK = 'sEcReT'

/** The secrets of a whole installation; each is of a form that its place takes. */
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

/** The mark as it is, in hexadecimal, and as it looks inside of base64, which depends on where it begins. */
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

/** Lists where a text gives away a marked secret or one of `tokens`: what stands around it. */
export function findLeaks(text: string, tokens: readonly string[] = []): string[] {
  return [...FORMS, ...tokens].flatMap((form) => {
    const at = text.indexOf(form)
    return at < 0 ? [] : [text.slice(Math.max(0, at - 150), at + 60)]
  })
}
