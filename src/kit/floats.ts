/** Whether any of the first `count` numbers is one: NaN stands for what is not known. */
export function hasValue(values: Float64Array, count: number): boolean {
  for (let index = 0; index < count; index++) if (!Number.isNaN(values[index])) return true
  return false
}
