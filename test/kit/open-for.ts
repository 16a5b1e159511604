import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

type Opened = { close(): unknown }

/** Opens something once for the tests of a file or of a describe, and closes it after them. Its members are there when the tests run. */
export function openForAll<T extends Opened>(open: () => Promise<T>): T {
  const opened: Partial<T> = {}
  beforeAll(async () => void Object.assign(opened, await open()))
  afterAll(() => opened.close?.())
  return opened as T
}

/** Opens something anew for each of these tests, and closes it after it. */
export function openForEach<T extends Opened>(open: () => Promise<T>): T {
  const opened: Partial<T> = {}
  beforeEach(async () => void Object.assign(opened, await open()))
  afterEach(() => opened.close?.())
  return opened as T
}
