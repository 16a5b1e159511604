import type { Facts } from './findings/facts.ts'

/** Gauges for Prometheus whose values are read at a scrape. */
export type Gauges = Readonly<{
  /** help texts by gauge, grouped by label names with spaces between them */
  helps: Helps
  read: (facts: Facts) => Promise<readonly Reading[]>
}>

type Helps = Readonly<Record<string, Readonly<Record<string, string>>>>
type NamesOf<Group> = Group extends unknown ? keyof Group & string : never

/** Values of gauges that have the same labels, by name. */
export type Reading<Name extends string = string> = Readonly<{
  labels?: Readonly<Record<string, string>>
  values: Readonly<Partial<Record<Name, GaugeValue>>>
}>

/**
 * A Date is shown as the seconds from that time to the scrape, `until` as the seconds from the scrape to that time; null prints no line.
 */
export type GaugeValue = number | boolean | Date | Readonly<{ until: Date | null }> | null

/** Makes gauges; the compiler allows `read` to return only gauges that have a help text. */
export function defineGauges<const H extends Helps>(
  gauges: Readonly<{
    helps: H
    read: (facts: Facts) => Promise<ReadonlyArray<Reading<NamesOf<H[keyof H]>>>>
  }>,
): Gauges {
  return gauges
}
