import { HIDDEN, hideUrlSecrets } from '../../../kit/text.ts'
import type { Settings } from '../../config/config.ts'
import { type Context, EXIT } from '../../frame/context.ts'
import { printTable } from '../../frame/output.ts'
import { defineVerb, flag } from '../../frame/verb.ts'

/** A setting as printed; the `value` of a secret is masked. */
type Setting = { name: string; value: string | null; source: string; default: string | null; about: string }

export const configVerb = defineVerb({
  name: 'config',
  description: 'show every setting, its value, where it was set and its default; secrets are hidden',
  options: { json: flag('--json', 'as one JSON object') },
  help: {
    settings: [],
    exits: [],
    examples: ['musette config', 'musette --settings my.env config --json'],
  },
  needs: 'nothing',
  takesProblems: true,
  withoutDataDir: true,
  run: (tools, options) => printConfig(tools, options),
})

export async function printConfig(
  context: Pick<Context, 'settings' | 'print' | 'printJson' | 'note'>,
  { json }: { json?: boolean },
): Promise<number> {
  const { problems } = context.settings
  const settings = await listSettings(context.settings)
  if (json) context.printJson({ settings, problems: problems.map(sentenceOf) })
  else {
    printTable(
      context,
      settings.map(({ name, value, source, default: fallback }) => ({
        setting: name,
        value: value ?? '',
        source,
        default: fallback ?? '',
      })),
    )
    context.print('\ndocs/settings.md explains each setting, and so does: musette config --json')
  }
  for (const problem of problems) context.note(`musette: ${sentenceOf(problem)}`)
  return problems.length === 0 ? EXIT.done : EXIT.usage
}

const sentenceOf = ({ name, sentence }: Settings['problems'][number]) => `${name} ${sentence}`

async function listSettings({ origins, problems, known }: Settings): Promise<Setting[]> {
  const { defaultOf } = await import('../../config/define-settings.ts')
  return [...known.variables].map(([name, variable]) => {
    const fallback = defaultOf(variable) ?? null
    const origin = origins.get(name)
    // A value that musette does not understand may be a secret in the wrong variable.
    const isWrong = problems.some((problem) => problem.variable === name)
    const value = origin && (isWrong || known.hidden.includes(name) ? HIDDEN : hideUrlSecrets(origin.text))
    const source = origin ? `${origin.source}${origin.name === name ? '' : `, ${origin.name}`}` : 'default'
    return { name, value: value ?? fallback, source, default: fallback, about: variable.description ?? '' }
  })
}
