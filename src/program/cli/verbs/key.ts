import { fstatSync } from 'node:fs'
import { ConfigError, errorCode } from '../../../kit/errors.ts'
import { readPlainFile } from '../../../kit/files.ts'
import type { Rotation } from '../../app/key-rotation.ts'
import { EXIT } from '../../frame/context.ts'
import { ASKS, KEYED } from '../../frame/help-of-verbs.ts'
import { defineVerb, option } from '../../frame/verb.ts'

const KEY = { name: 'key', description: 'manage the key that seals the tokens' }

export const keyExportVerb = defineVerb({
  group: KEY,
  name: 'export',
  description: 'print the key that decrypts the logins in backups, to keep on paper',
  help: {
    notes: ['It prints only to a terminal, or to a file that only its owner can read.'],
    settings: ['MUSETTE_DATA_DIR', 'MUSETTE_SECRET_KEY'],
    exits: [],
    examples: ['musette key export', '(umask 077; musette key export > key.txt)'],
  },
  needs: 'nothing',
  async run({ config, print }): Promise<undefined> {
    const { readPaperKeys } = await import('../../app/paper-keys.ts')
    const lines = readPaperKeys(config)
    const output = fstatSync(process.stdout.fd)
    const isPrivate = output.isFile() && (output.mode & 0o077) === 0
    if (!process.stdout.isTTY && !isPrivate) {
      const message =
        'the key is printed only to a terminal, or to a file that only its owner can read; run: (umask 077; musette key export > key.txt)'
      throw new ConfigError('key_not_private', message)
    }
    for (const line of lines) print(line)
  },
})

export const keyImportVerb = defineVerb({
  group: KEY,
  name: 'import <file>',
  description: 'restore a key from paper, so that it decrypts the logins in a backup; - is standard input',
  help: { settings: ['MUSETTE_DATA_DIR'], exits: [], examples: ['musette key import key.txt'] },
  needs: 'nothing',
  async run({ config, print, signal }, { file }): Promise<undefined> {
    const { addPaperKeys } = await import('../../app/paper-keys.ts')
    const { readInput } = await import('../../frame/prompt.ts')
    const fail = (error: unknown) => {
      const message = `${file} cannot be read (${errorCode(error)}); give the file that musette key export made`
      throw new ConfigError('bad_usage', message)
    }
    const text =
      file === '-' ? await readInput(process.stdin, signal) : String(await readPlainFile(file).catch(fail))
    for (const { keyId, path } of await addPaperKeys(config, text))
      print(`the key ${keyId} is in ${path}; a running daemon uses it without a restart`)
  },
})

export const keyRotateVerb = defineVerb({
  group: KEY,
  name: 'rotate',
  description: 'seal every login with a new key',
  options: {
    to: option(
      '--to <file>',
      'if MUSETTE_SECRET_KEY is set: the file of the new key, created if it does not exist',
    ),
  },
  help: { settings: KEYED, exits: [...ASKS, 'partial'], examples: ['musette key rotate'] },
  needs: 'database',
  async run({ app, print, note }, { to }) {
    const { rotateKey } = await import('../../app/key-rotation.ts')
    const rotation = await rotateKey(app, { to })
    print(sentenceOf(rotation))
    const kept = rotation.old ? `, which is kept in ${rotation.old}` : ''
    print(
      `backups made before this hold logins sealed with the old key${kept}${kept === '' ? ':' : ';'} put a copy of that with them, or make a new backup; run: musette backup FILE`,
    )
    for (const { message } of rotation.unreadable) note(`musette: ${message}`)
    return rotation.unreadable.length > 0 ? EXIT.partial : EXIT.done
  },
})

function sentenceOf({ logins, path, byHand }: Rotation): string {
  const count = logins === 1 ? '1 login is' : `${logins} logins are`
  if (!byHand) return `${count} sealed with a new key, in ${path}; a running daemon uses it without a restart`
  const sealed = logins === 0 ? 'no login was to be sealed' : `${count} sealed anew`
  return `${sealed}; now set MUSETTE_SECRET_KEY_FILE=${path} instead of the old key, and restart the daemon`
}
