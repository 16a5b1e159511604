import { afterAll, afterEach, beforeAll, beforeEach, onTestFinished } from 'vitest'

type Opened = { close(): unknown }

/**
 * Opens a resource for all tests of a file or a describe, and closes it after them. The members of the returned object exist only while the
 * tests run.
 */
export function openForAll<T extends Opened>(open: () => Promise<T>): T {
  const opened: Partial<T> = {}
  beforeAll(async () => fill(opened, await open()))
  afterAll(() => opened.close?.())
  return opened as T
}

/** Opens a resource before each test, and closes it after the test. */
export function openForEach<T extends Opened>(open: () => Promise<T>): T {
  const opened: Partial<T> = {}
  beforeEach(async () => fill(opened, await open()))
  afterEach(() => opened.close?.())
  return opened as T
}

/** Opens a resource in a test, and closes it after the test; of several the last one first. */
export async function openForTest<T extends Opened>(opening: T | Promise<T>): Promise<T> {
  const opened = await opening
  onTestFinished(async () => void (await opened.close()))
  return opened
}

/** Copies the members of one object to another. Getters stay getters. */
function fill(opened: object, members: object): void {
  Object.defineProperties(opened, Object.getOwnPropertyDescriptors(members))
}
