/** The present moment; handed in, so that tests can turn it. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()
