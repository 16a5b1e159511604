/** Letters that stay whole when accents are taken away, and the ones that are typed for them. */
const LETTERS = ['øłđħŧı', 'oldhti']

/**
 * Makes the SQL of a text without case and accents, as one searches for it: `rio` finds `Río`, and `lodz` finds `Łódź`. `text` is
 * an SQL expression.
 */
export function makeFoldedSql(text: string): string {
  const bare = `regexp_replace(normalize(${text}, NFKD), '[\\u0300-\\u036f]', '', 'g')`
  return `translate(lower(${bare}), ${LETTERS.map((letters) => `'${letters}'`).join(', ')})`
}
