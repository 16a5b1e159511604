import type { Rotation } from '../../app/key-rotation.ts'
import { EXIT } from '../../frame/context.ts'
import { ASKS, KEYED } from '../../frame/help-of-verbs.ts'
import { defineVerb, option } from '../../frame/verb.ts'

export const keyRotateVerb = defineVerb({
  group: { name: 'key', description: 'manage the key that seals the tokens' },
  name: 'rotate',
  description: 'seal every login with a new key',
  options: {
    to: option(
      '--to <file>',
      'when MUSETTE_SECRET_KEY is set: the file of the new key, created if it does not exist',
    ),
  },
  help: { settings: KEYED, exits: [...ASKS, 'partial'], examples: ['musette key rotate'] },
  needs: 'database',
  async run({ app, print, note }, { to }) {
    const { rotateKey } = await import('../../app/key-rotation.ts')
    const rotation = await rotateKey(app, { to })
    print(sentenceOf(rotation))
    print(backupsOf(rotation))
    for (const { message } of rotation.unreadable) note(`musette: ${message}`)
    return rotation.unreadable.length > 0 ? EXIT.partial : EXIT.done
  },
})

function backupsOf({ old }: Rotation): string {
  const kept = old ? `, which is kept in ${old}; put a copy of that` : ': put a copy of that'
  return `backups made before this hold logins sealed with the old key${kept} with them, or make a new backup; run: musette backup FILE`
}

function sentenceOf({ logins, path, byHand }: Rotation): string {
  const count = logins === 1 ? '1 login is' : `${logins} logins are`
  if (!byHand)
    return `${count} sealed with a new key, in ${path}; a daemon that runs goes on with it by itself`
  const sealed = logins === 0 ? 'no login was left to seal' : `${count} sealed anew`
  return `${sealed}; from now on set MUSETTE_SECRET_KEY_FILE=${path} in place of the old key, and start the daemon again`
}
