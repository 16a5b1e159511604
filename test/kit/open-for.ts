import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from 'vitest'

type Opened = { close(): unknown }

/** Opens something once for the tests of a file or of a describe, and closes it after them. Its members are there when the tests run. */
export function openForAll<T extends Opened>(open: () => Promise<T>): T {
  const opened: Partial<T> = {}
  beforeAll(async () => fill(opened, await open()))
  afterAll(() => opened.close?.())
  return opened as T
}

/** Opens something anew for each of these tests, and closes it after it. */
export function openForEach<T extends Opened>(open: () => Promise<T>): T {
  const opened: Partial<T> = {}
  beforeEach(async () => fill(opened, await open()))
  afterEach(() => opened.close?.())
  return opened as T
}

/** Opens something in a test, and closes it after it; of several the last first. */
export async function openForTest<T extends Opened>(opening: T | Promise<T>): Promise<T> {
  const opened = await opening
  onTestFinished(async () => void (await opened.close()))
  return opened
}

/** Gives an object the members of another; what a getter returns may change later. */
function fill(opened: object, members: object): void {
  Object.defineProperties(opened, Object.getOwnPropertyDescriptors(members))
}
