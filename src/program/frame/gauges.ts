import type { Facts } from './findings/facts.ts'

/** Gauges for Prometheus whose values are read at a scrape. */
export type Gauges = Readonly<{
  /** by label names with spaces between them, and then by name, what the value is */
  helps: Helps
  read: (facts: Facts) => Promise<readonly Reading[]>
}>

type Helps = Readonly<Record<string, Readonly<Record<string, string>>>>
type NamesOf<Group> = Group extends unknown ? keyof Group & string : never

/** Values of gauges, by name, that have the same labels. */
export type Reading<Name extends string = string> = Readonly<{
  labels?: Readonly<Record<string, string>>
  values: Readonly<Partial<Record<Name, GaugeValue>>>
}>

/** Times are shown as the seconds since them, or until them, at a scrape; null has no line. */
export type GaugeValue = number | boolean | Date | Readonly<{ until: Date | null }> | null

/** Makes gauges; only those that have a help can be read. */
export function defineGauges<const H extends Helps>(
  gauges: Readonly<{
    helps: H
    read: (facts: Facts) => Promise<ReadonlyArray<Reading<NamesOf<H[keyof H]>>>>
  }>,
): Gauges {
  return gauges
}
