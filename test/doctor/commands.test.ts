import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A command that a sentence or a finding names: a program, and its verb or first option. */
const COMMAND =
  /(?:run: |['`])((?:sudo|npx) [a-z]+|chmod u\+rwX|(?:chmod|export|df|rm|ls|tail|mkdir|sed|redis-cli|pg_isready|curl) (?:-[a-zA-Z]+|\$\{|\d|[A-Z])|musette (?:accounts|backup|config|db-url|doctor|export|key|login|logout|migrate|reader|rebuild|restore|resync|sql|start|status|sync|upload|verify|webhook|workout)\b)/g

/**
 * Each command that a person is told to type, and the test that types it in the situation that it is for; `shown` where a test only
 * sees it in the sentence, because it needs a person, another machine or a service that went away.
 */
const COMMANDS: Readonly<Record<string, string>> = {
  'chmod 6': 'test/doctor/remedies.test.ts',
  'chmod 7': 'test/doctor/remedies.test.ts',
  'chmod u+rwX': 'test/doctor/disk.test.ts',
  'curl -I': 'shown',
  'curl -i': 'shown',
  'df ${': 'test/doctor/remedies.test.ts',
  'df -h': 'shown',
  'export N': 'test/doctor/remedies.test.ts',
  'export M': 'test/doctor/remedies.test.ts',
  'export ${': 'test/doctor/remedies.test.ts',
  'ls -l': 'shown',
  'mkdir -p': 'test/doctor/remedies.test.ts',
  'musette accounts': 'test/cli/account-names.test.ts',
  'musette backup': 'test/cli/backup.test.ts',
  'musette config': 'test/doctor/remedies.test.ts',
  'musette db-url': 'test/cli/db-url.test.ts',
  'musette doctor': 'test/doctor/doctor.test.ts',
  'musette export': 'test/cli/export.test.ts',
  'musette key': 'test/app/key-verbs.test.ts',
  'musette login': 'test/cli/account-names.test.ts',
  'musette logout': 'test/cli/accounts.test.ts',
  'musette migrate': 'test/doctor/remedies.test.ts',
  'musette reader': 'test/cli/reader.test.ts',
  'musette rebuild': 'test/doctor/database.test.ts',
  'musette restore': 'test/cli/backup.test.ts',
  'musette resync': 'test/cli/account-names.test.ts',
  'musette sql': 'test/doctor/database.test.ts',
  'musette start': 'test/doctor/redis.test.ts',
  'musette status': 'test/cli/cli.test.ts',
  'musette sync': 'test/cli/cli.test.ts',
  'musette upload': 'test/cli/upload.test.ts',
  'musette verify': 'test/cli/verify.test.ts',
  'musette webhook': 'test/webhooks/daemon.test.ts',
  'musette workout': 'test/cli/workout.test.ts',
  'npx musette': 'shown',
  'pg_isready -d': 'test/doctor/remedies.test.ts',
  'redis-cli -u': 'test/doctor/redis.test.ts',
  'rm ${': 'shown',
  'sed -i': 'test/doctor/remedies.test.ts',
  'sudo chown': 'shown',
  'sudo mkdir': 'shown',
  'sudo sysctl': 'shown',
  'sudo timedatectl': 'shown',
  'tail ${': 'shown',
}

it('every suggested command has a row with the test that types it', async () => {
  const files = await readdir(join(root, 'src'), { recursive: true })
  const texts = await Promise.all(
    files
      .filter((path) => /\.tsx?$/.test(path) && !/mcp\/cookbook|cli\/(help|completion)/.test(path))
      .map((path) => readFile(join(root, 'src', path), 'utf8')),
  )
  const told = new Set(
    texts.flatMap((text) => [...text.matchAll(COMMAND)].map(([, command = '']) => command)),
  )
  expect([...told].sort()).toEqual(Object.keys(COMMANDS).sort())
  const missing = await Promise.all(
    Object.entries(COMMANDS).map(async ([command, test]) => {
      if (test === 'shown') return []
      const word = command.split(' ')[1] ?? ''
      const text = await readFile(join(root, test), 'utf8')
      const typed = [`'${word}'`, `musette ${word}`, 'type(', 'mend('].some((form) => text.includes(form))
      return typed ? [] : [`${command}: ${test}`]
    }),
  )
  expect(missing.flat()).toEqual([])
})
