import type { Catalog, Column, Relation } from './catalog.ts'

/** Writes the data dictionary as Markdown. */
export function formatCatalog({ comment, relations }: Catalog): string {
  const tables = relations.filter(({ kind }) => kind === 'table')
  const views = relations.filter(({ kind }) => kind === 'view')
  return [
    '# The schema `training`',
    comment,
    'This file is written by `npm run docs` from the comments in the database; a test fails when the two differ. `psql` ' +
      'shows the same with `\\d+ training.activities`.',
    ...listOf('Tables', tables),
    ...listOf('Views', views),
    ...relations.flatMap(sectionOf),
  ]
    .join('\n\n')
    .concat('\n')
}

function listOf(title: string, relations: readonly Relation[]): string[] {
  if (relations.length === 0) return []
  const lines = relations.map(({ name, comment }) => `- [${name}](#${name}): ${firstSentence(comment)}`)
  return [`## ${title}`, lines.join('\n')]
}

function sectionOf({ name, kind, comment, columns, constraints, indexes }: Relation): string[] {
  const rules = [...constraints, ...indexes].map((definition) => `- \`${definition}\``)
  return [
    `## ${name}`,
    escapeText(comment),
    tableOf(columns, kind),
    ...(rules.length > 0 ? [rules.join('\n')] : []),
  ]
}

// Of a view's columns Postgres does not say whether they can be NULL.
function tableOf(columns: readonly Column[], kind: Relation['kind']): string {
  const head =
    kind === 'table'
      ? '| column | type | may be NULL | meaning |\n| --- | --- | --- | --- |'
      : '| column | type | meaning |\n| --- | --- | --- |'
  const lines = columns.map(({ name, type, nullable, comment }) => {
    const cells = [
      `\`${name}\``,
      type,
      ...(kind === 'table' ? [nullable ? 'yes' : ''] : []),
      escapeText(comment),
    ]
    return `| ${cells.join(' | ')} |`
  })
  return [head, ...lines].join('\n')
}

function firstSentence(comment: string): string {
  return escapeText(/^.*?[.](?=\s|$)/s.exec(comment)?.[0] ?? comment)
}

// A bar ends a table's cell; an angle bracket or a star begins something else.
function escapeText(text: string): string {
  return text.replace(/[|<>*]/g, '\\$&').replace(/\s*\n\s*/g, ' ')
}
