/**
 * Tells whether a run tries every case, as `npm run converge` does with WHOLE=1. `npm test` tries of long families of cases
 * as many as find the faults of test/promises.
 */
export const whole = process.env.WHOLE === '1'
