import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'
import { expect, it } from 'vitest'
import { VERBS } from '../../../src/program/cli/cli.ts'
import { commandOf, makeRules } from '../../../src/program/frame/findings/finding.ts'
import { loadFeatureRows, type Proof } from '../../kit/feature-rows.ts'
import { readTable } from '../../kit/table.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

const FIRST_WORDS = [...new Set(VERBS.map(({ words }) => words.split(' ')[0]))]
/** A command that a sentence or a finding names: a program, and its verb or first option. */
const COMMAND = new RegExp(
  `(?:run: |in: |['\`])((?:sudo|npx) [a-z]+|node --version|npm (?:install|ci|run demo)|chmod u\\+rwX|kill (?:-9|-CONT|\\$\\{)|(?:chmod|export|df|rm|mv|ls|tail|mkdir|sed|redis-cli|pg_isready|curl) (?:-[a-zA-Z]+|\\$\\{|\\d|[A-Z])|musette (?:${FIRST_WORDS.join('|')})\\b)`,
  'g',
)

const features = await loadFeatureRows()

/** The commands that a person is told to type | the file and the title of the test that types them; without a file, why none can. */
const CORE: ReadonlyArray<readonly [kind: string, proof: Proof]> = readTable(`
chmod 6, chmod 7, export \${, mkdir -p | program/doctor/remedies | of %s
curl -I, curl -i | program/doctor/remedies | shows what answers at the address of the service, and when nothing does
df \${ | program/doctor/remedies | shows the disk of a drop folder that is not mounted, and does not create the folder
export M, sed -i | program/doctor/remedies | of another program on the port, wherever it is set
musette config | program/doctor/remedies | of a file of webhooks that cannot be read
kill -9, kill -CONT | program/doctor/causes | names who listens where nothing answers: musette that runs, musette that is stopped, or another program
node --version | program/doctor/remedies | shows the version of a Node that is too old
pg_isready -d | program/doctor/remedies | tries the address of a database that does not answer, without its password and without DATABASE_URL in the shell
df -h | program/doctor/typed | shows the room on a disk that is full
musette accounts, musette key, musette verify | program/doctor/typed | %s answers what \`%s\` asks for
musette doctor | program/doctor/typed | shows why the files of a drop folder are not found
musette login, musette sync | program/doctor/typed | leads from nothing to an account and its history, step by step
musette rebuild, musette upload | program/doctor/typed | keeps the FIT file of a ride that was uploaded, and reads it anew after an upgrade
musette resync, musette status | program/doctor/typed | fetches an activity again that cannot be rebuilt, and shows one that failed
chmod u+rwX, sudo chown, sudo mkdir | program/doctor/broken | is a folder that this user may not write
musette logout | program/doctor/broken | of a rider with two is reported with the command that ends one
rm \${ | program/doctor/broken | is a folder of another database, as status also says, with the command to type
musette start | program/doctor/redis | has its schedules counted, before a start, under a daemon, and after a flush
redis-cli -u | program/doctor/redis | is checked by its settings, and the suggested commands repair them
mv \${ | | It moves away damaged files, which a test of backups types.
kill \${ | flows/upgrade/upgrade | migrate refuses while an older daemon runs the embedded Postgres, with the remedy
musette migrate | program/cli/migrate-plan | has nothing to do for this version, and names the command for an older version
npm install | package/package | names the command for a Postgres that npm did not fetch
sudo sysctl | | It changes the kernel of the whole machine, which a container may not do.
sudo timedatectl | | It sets the clock of the whole machine, and needs systemd.
tail \${ | | A connection to the embedded Postgres that ends says it, which only a statement of somebody does.`).flatMap(
  ([kinds = '', file, title = '']) =>
    kinds.split(', ').map((kind) => [kind, file ? [`test/${file}.test.ts`, title] : { why: title }] as const),
)

/** The same with those of features, whose verbs are there. A proof is better than a reason. */
const COMMANDS: Readonly<Record<string, Proof>> = Object.fromEntries(
  [...CORE, ...features.flatMap(({ commands = {} }) => Object.entries(commands))]
    .filter(([kind]) => !/^musette /.test(kind) || FIRST_WORDS.includes(kind.split(' ')[1]))
    .sort(([, a], [, b]) => Number('why' in b) - Number('why' in a)),
)

/** The parts of commands that need no quotes for a shell: names with a rule, numbers, and what is quoted where it is made. */
const PLAIN: readonly string[] = [
  ...features.flatMap(({ plain }) => plain ?? []),
  'core/dropfolder/folder-report.ts: folder',
  'core/jobs/backend.ts: prefix',
  'core/service/account-login.ts: login',
  'embedded/binaries.ts: name',
  'embedded/binaries.ts: version',
  'embedded/not-ready.ts: owner.pid',
  "embedded/not-ready.ts: stopped.join(' ')",
  'kit/files.ts: give',
  'kit/folders/folder.ts: word',
  'program/config/trust.ts: path',
  'program/config/trust.ts: self',
  'kit/redis/redis-url.ts: loginOptions(address.sentinelLogin)',
  'program/app/open-database.ts: elsewhere',
  'program/app/remedy.ts: name',
  'program/query/reading-session.ts: errorLine(cause)',
  'program/app/remedy.ts: value',
  'program/doctor/check-queue.ts: redisCliAddress(url, facts.server)',
  'program/doctor/check-service.ts: free',
  'program/doctor/check-service.ts: silent.pid',
  'program/doctor/fetch-readiness.ts: pid',
  'program/frame/findings/check-folder.ts: folder',
  'program/frame/findings/check-folder.ts: variable',
]

type Node = { type: string; start: number; end: number; [field: string]: unknown }

function listNodes(tree: unknown, type: string, found: Node[] = []): Node[] {
  if (typeof tree !== 'object' || tree === null) return found
  if ('type' in tree && tree.type === type) found.push(tree as Node)
  for (const child of Object.values(tree)) listNodes(child, type, found)
  return found
}

const parse = (path: string, text: string) => parseSync(path, text).program

const paths = (await readdir(join(root, 'src'), { recursive: true })).filter(
  (path) => /\.tsx?$/.test(path) && !/mcp\/cookbook|cli\/(help|completion)/.test(path),
)
const SOURCES = await Promise.all(
  paths.map(async (path) => {
    const text = await readFile(join(root, 'src', path), 'utf8')
    // Comments and the examples of help suggest nothing in a situation.
    return { path, text: text.replaceAll(/^ *(?:\/\*\*|\*|\/\/).*$|(?<=examples: \[)[^\]]*/gm, '') }
  }),
)

it('every suggested command has a row', () => {
  const told = new Set(
    SOURCES.flatMap(({ text }) => [...text.matchAll(COMMAND)].map(([, command]) => command)),
  )
  expect([...told].sort()).toEqual(Object.keys(COMMANDS).sort())
})

it.each(Object.entries(COMMANDS))(
  '%s is typed as it was printed, by the test of its row',
  async (kind, proof) => {
    if ('why' in proof) return expect(proof.why).toMatch(/\.$/)
    const [path, title] = proof
    const text = await readFile(join(root, path), 'utf8')
    const argumentsOf = (call: Node) =>
      (call.arguments as Node[]).map(({ start, end }) => text.slice(start, end))
    const calls = listNodes(parse(path, text), 'CallExpression')
    const test = calls.find((call) => argumentsOf(call)[0]?.slice(1, -1) === title)
    if (!test) return expect.fail(`${path} has no test "${title}"`)
    const typings = listNodes(test, 'CallExpression').filter(({ callee }) =>
      /^(?:type|typeVerb|wordsOf)$/.test(String((callee as Node).name)),
    )
    // A table of cases names the kind in a cell of its row, a list or a text; the command itself is no text of the test.
    const table = text.slice(test.start, test.end).replaceAll('\\${', '${')
    const isCell = table.includes(`'${kind}'`) || table.includes(` | ${kind} |`)
    const isTyped = typings.map(argumentsOf).some(([first = '', told = '']) => {
      const isKind = first === `'${kind}'` || (isCell && /^\w+$/.test(first))
      return isKind && told !== '' && !/^['"`]/.test(told)
    })
    expect(isTyped, `"${title}" does not type ${kind}`).toBe(true)
  },
)

it('what a command names is quoted for a shell, unless a rule makes it plain', () => {
  const begins = new RegExp(COMMAND.source.replace("['`]", "^|['`]"))
  const unquoted = SOURCES.flatMap(({ path, text }) =>
    listNodes(parse(path, text), 'TemplateLiteral').flatMap(({ quasis, expressions }) => {
      const texts = (quasis as Array<{ value: { raw: string } }>).map(({ value }) => value.raw)
      const first = texts.findIndex((raw) => begins.test(`${raw}\${`))
      return (first < 0 ? [] : (expressions as Node[]).slice(first))
        .map(({ start, end }) => text.slice(start, end))
        .filter((part) => !part.startsWith('quoteShell('))
        .map((part) => `${path}: ${part}`)
    }),
  )
  expect(unquoted.filter((part) => !PLAIN.includes(part))).toEqual([])
  // A command of a feature that is not there is not looked for, so a rule is only held to what its file says.
  const texts = new Map(SOURCES.map(({ path, text }) => [path, text]))
  const idle = PLAIN.filter((rule) => {
    const [path = '', part = ''] = rule.split(/: (.*)/s)
    return !texts.get(path)?.includes(`\${${part}}`)
  })
  expect(idle).toEqual([])
})

/** Where sentences and commands are made that the doctor prints. */
const OF_DOCTOR =
  /^(?:program\/doctor|program\/frame\/findings|program\/app\/remedy|embedded|features\/[a-z]+\/state)\b/

it('no command that the doctor prints has a placeholder', () => {
  const begins = new RegExp(COMMAND.source.replace("['`]", "^|['`]"))
  const wrong = SOURCES.filter(({ path }) => OF_DOCTOR.test(path)).flatMap(({ path, text }) => {
    const tree = parse(path, text)
    // Rules have examples, which makeFinding() fills in or leaves out.
    const rules = listNodes(tree, 'CallExpression').filter(
      ({ callee }) => (callee as Node).name === 'makeRules',
    )
    const isRule = ({ start, end }: Node) => rules.some((rule) => rule.start <= start && end <= rule.end)
    const texts = [...listNodes(tree, 'TemplateLiteral'), ...listNodes(tree, 'Literal')]
    return texts
      .filter((node) => !isRule(node))
      .map(({ start, end }) => text.slice(start, end))
      .flatMap((part) => {
        const said = part.replaceAll(/\$\{[^}]*\}/g, 'value')
        const at = said.slice(1).search(begins)
        const command = at < 0 ? '' : said.slice(at + 1)
        return /…|\b(?:FILE|NAME|PATH|DIR|ZONE|ACCOUNT|ADDRESS)\b/.test(command) ? [`${path}: ${part}`] : []
      })
  })
  expect(wrong).toEqual([])
})

it('a finding without a value for its command has none', () => {
  const { example } = makeRules({ example: ['warning', 'doctor', 'musette backup --verify FILE'] })
  expect(commandOf(example)).toBeUndefined()
  expect(commandOf(example, { FILE: 'a b.tar' })).toBe(`musette backup --verify 'a b.tar'`)
})
