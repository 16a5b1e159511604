import { expect, it } from 'vitest'
import { findLeaks, SECRETS } from './marked.ts'

it('the search for leaks finds a secret in every form it may have', () => {
  const found = (text: string) => findLeaks(text).length > 0
  for (const secret of Object.values(SECRETS)) expect(found(`x ${secret} y`)).toBe(true)
  for (const before of ['', 'a', 'ab']) {
    expect(found(Buffer.from(`${before}${SECRETS.password}`).toString('base64'))).toBe(true)
  }
  expect(found(Buffer.from(SECRETS.password).toString('hex'))).toBe(true)
  expect(findLeaks('a token: 1234', ['1234'])).toHaveLength(1)
  expect(found('nothing here')).toBe(false)
})
