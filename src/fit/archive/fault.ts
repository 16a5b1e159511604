/** Why an archive does not give what is in it: `unready` when it may still be written to. */
export type Fault =
  | { verdict: 'unready'; code: string; reason: string }
  | { verdict: 'refused'; code: string; reason: string }

/** A fault that shows only while bytes are unpacked. */
export class UnpackError extends Error {
  override readonly name = 'UnpackError'
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.reason)
    this.fault = fault
  }
}

export function unready(code: string, reason: string): Fault {
  return { verdict: 'unready', code, reason }
}

export function refused(code: string, reason: string): Fault {
  return { verdict: 'refused', code, reason }
}
