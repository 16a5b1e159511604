import { addAbortSignal } from 'node:stream'
import { commandFor, errorCode, errorLine } from '../../kit/errors.ts'
import { formatBytes } from '../../kit/text.ts'
import { DAY, formatDuration } from '../../kit/time.ts'
import type { Config } from '../../program/config/config.ts'
import { defineFeature } from '../../program/frame/define-feature.ts'
import { ASKS, DATABASE } from '../../program/frame/help-of-verbs.ts'
import { refuseTerminal, writeOut } from '../../program/frame/standard-streams.ts'
import { defineVerb, flag, type Tools } from '../../program/frame/verb.ts'

const backupVerb = defineVerb({
  name: 'backup <file>',
  description: 'write the whole database to one file, even while the daemon runs; - is standard output',
  options: {
    verify: flag(
      '--verify',
      'read this backup instead: restore it into a temporary database and compare all rows',
    ),
  },
  help: {
    settings: DATABASE,
    exits: ASKS,
    examples: [
      'musette backup training.tar',
      'musette backup --verify training.tar',
      'musette backup - | ssh nas "cat > training.tar"',
    ],
  },
  needs: 'nothing',
  run: (tools, { file, verify }) => (verify ? verifyFile(tools, file) : backUpTo(tools, file)),
})

const restoreVerb = defineVerb({
  name: 'restore <file>',
  description: 'load a backup into an empty database, all of it or nothing; - is standard input',
  help: { settings: DATABASE, exits: ASKS, examples: ['musette restore training.tar'] },
  needs: 'nothing',
  async run(tools, { file }): Promise<undefined> {
    const { signal, note, took } = tools
    const from = file === '-' ? { source: addAbortSignal(signal, process.stdin) } : { path: file }
    const { restoreFrom, describeContent } = await import('./backups.ts')
    const line = tools.beginProgress('restoring rows')
    const { manifest, key } = await restoreFrom(tools, { from, signal, onProgress: line.show })
    line.close()
    note(
      `musette: restored and verified ${describeContent(manifest)} of ${manifest.made_at} in ${formatDuration(took())}`,
    )
    const [first] = key.missing
    const canAsk = file !== '-' && tools.terminal && process.stdin.isTTY && !tools.config.secretKey
    const added = first && canAsk ? await promptForKey(tools, first.keyId) : []
    for (const { account, keyId } of key.missing) {
      const path = added.find((one) => one.keyId === keyId)?.path
      const lost = `is not here; put it in place with musette key import FILE, or run: ${commandFor('login', account)}`
      note(`musette: the key ${keyId} of the login of "${account}" ${path ? `is in ${path}` : lost}`)
    }
    note('musette: the next sync or start of the daemon fetches the changes since the backup')
  },
})

async function backUpTo(tools: Tools<'nothing'>, file: string): Promise<undefined> {
  const { signal, note, took } = tools
  if (file === '-') refuseTerminal('a backup is not for a terminal; run: musette backup FILE')
  const to = file === '-' ? { write: writeOut } : { path: file }
  const { backUp, describeContent } = await import('./backups.ts')
  const line = tools.beginProgress('backing up rows')
  const { manifest, bytes, leftOut, key } = await backUp(tools, { to, signal, onProgress: line.show })
  line.close()
  const where = file === '-' ? 'the backup' : file
  note(
    `musette: wrote ${describeContent(manifest)} to ${where}, ${formatBytes(bytes)} in ${formatDuration(took())}`,
  )
  for (const part of leftOut) {
    note(`musette: ${part} is not musette's and is not in the backup; copy it with pg_dump`)
  }
  if (key.needed.length === 0) return
  const { dataDir, secretKey } = tools.config
  const { secretKeyPath } = await import('../../core/vault/key-file.ts')
  const place = secretKey ? 'MUSETTE_SECRET_KEY' : `the key file ${secretKeyPath(dataDir)}`
  note(
    key.missing.length > 0
      ? 'musette: the key that decrypts the logins is neither here nor in the backup; run: musette doctor'
      : `musette: the key that decrypts the logins is not in the backup; keep a copy of ${place} elsewhere, on paper with: musette key export; without it each account needs: musette login`,
  )
}

async function verifyFile(tools: Tools<'nothing'>, file: string): Promise<undefined> {
  const { signal, print, took } = tools
  const from = file === '-' ? { source: addAbortSignal(signal, process.stdin) } : { path: file }
  const { verifyBackup, describeContent } = await import('./backups.ts')
  const line = tools.beginProgress('restoring rows')
  const manifest = await verifyBackup(tools, { from, signal, onProgress: line.show })
  line.close()
  const which = file === '-' ? 'the backup' : file
  print(
    `${which}: ${describeContent(manifest)} of ${manifest.made_at}, each as it was written; restored and compared in ${formatDuration(took())}`,
  )
}

/** Asks for a missing key on the terminal until the user types the right key or nothing; stores a right key. */
async function promptForKey({ config, signal }: Tools<'nothing'>, keyId: string) {
  const { parsePaperKeys } = await import('../../core/vault/paper-key.ts')
  const { addPaperKeys } = await import('../../program/app/paper-keys.ts')
  const { promptForText } = await import('../../program/frame/prompt.ts')
  const validate = (line = '') => {
    try {
      if (line.trim() !== '') parsePaperKeys(line)
      return undefined
    } catch (error) {
      return errorLine(error)
    }
  }
  const message = `The 17 groups of the key ${keyId}, as musette key export prints them (Enter continues without the key)`
  const typed = await promptForText(message, signal, { validate }).catch(() => '')
  signal.throwIfAborted()
  return typed.trim() === '' ? [] : await addPaperKeys(config, typed)
}

const scheduleOf = async (config: Config) => (await import('./settings.ts')).scheduleOf(config)

export const backup = defineFeature({
  name: 'backup',
  verbs: { after: 'migrate', all: [backupVerb, restoreVerb] },
  settingsOf: { start: ['MUSETTE_BACKUP_DIR', 'MUSETTE_BACKUP_EVERY', 'MUSETTE_BACKUP_KEEP'] },
  settings: async () => (await import('./settings.ts')).backupSettings,
  jobs: {
    'back-up': {
      attempts: 10, // about an hour and a half: the next scheduled one may be a day away
      atStart: true, // the run itself reads when the newest backup was made
      every: async (config) => {
        const { dir, lookEveryMs } = await scheduleOf(config)
        return dir === undefined ? undefined : lookEveryMs
      },
      run: async (app, { signal }) => {
        const input = { now: app.mirror.now, signal }
        const { verifyScheduledBackup, writeScheduledBackup } = await import('./scheduled-backup.ts')
        try {
          const made = await writeScheduledBackup(app, input)
          if ((await scheduleOf(app.config)).isDefault) await verifyScheduledBackup(app, input)
          return made
        } catch (error) {
          // Do not retry: the disk rarely gets room within an hour, and the job runs again the next day.
          if (errorCode(error) !== 'backup_no_room') throw error
          app.log.warn(errorLine(error))
          return undefined
        }
      },
    },
    'verify-backup': {
      attempts: 2, // the job runs again a day later
      atStart: true, // the run itself reads when a backup was last compared
      // A comparison is due a week after the last success; a default backup is compared as soon as it is made.
      every: async (config) => {
        const { dir, isDefault } = await scheduleOf(config)
        return dir === undefined || isDefault ? undefined : DAY
      },
      run: async (app, { signal }) => {
        const { verifyScheduledBackup } = await import('./scheduled-backup.ts')
        return verifyScheduledBackup(app, { now: app.mirror.now, signal })
      },
    },
  },
  copyTables: async () => (await import('./copy-server.ts')).copyServer,
  state: async () => (await import('./state.ts')).backupState,
  gauges: async () => (await import('./state.ts')).backupGauges,
})
