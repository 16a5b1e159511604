import { existsSync } from 'node:fs'
import { findIdentity } from '../../core/store/database-facts.ts'
import { findWholeWorkState } from '../../core/store/runs.ts'
import { secretKeyPath } from '../../core/vault/key-file.ts'
import { errorLine } from '../../kit/errors.ts'
import { orMissing } from '../../kit/files.ts'
import { openFolder } from '../../kit/folders/folder.ts'
import type { DatabaseIdentity, ForeignFolder } from '../../kit/folders/folder-owner.ts'
import { closeAfter } from '../../kit/release-stack.ts'
import { countOf, formatBytes, quoteShell } from '../../kit/text.ts'
import { DAY, formatAge, formatDuration } from '../../kit/time.ts'
import { readWritableFolder } from '../../program/frame/findings/check-folder.ts'
import {
  type CheckContext,
  DATABASE_VARIABLES,
  type Facts,
  type FeatureState,
} from '../../program/frame/findings/facts.ts'
import {
  type Finding,
  makeFinding,
  makeRules,
  ok,
  problem,
  type Rule,
  warning,
} from '../../program/frame/findings/finding.ts'
import { defineGauges } from '../../program/frame/gauges.ts'
import type { FoundBackup } from './backup-folder.ts'
import { scheduleOf, VERIFY_EVERY_MS } from './settings.ts'

const SAID = 'doctor status page heartbeat message'

const RULES = {
  ...makeRules({
    backups_of_others: ['calm', 'doctor status page', 'export MUSETTE_BACKUP_DIR=DIR'],
    key_beside_backups: ['calm', 'doctor', 'musette key export'],
  }),
  ...makeRules(
    {
      backup_missing: ['warning', 'doctor status', 'musette start'],
      backup_no_room: ['warning', 'doctor status page', 'df -h DIR'],
      backup_failed: ['unexpected', SAID, 'musette backup DIR/by-hand.tar'],
      backup_disk_full: ['unexpected', SAID, 'df -h DIR'],
      backup_gone: ['unexpected', SAID, 'musette backup DIR/by-hand.tar'],
      backup_late: ['unexpected', SAID, 'musette backup DIR/by-hand.tar'],
      backup_unproved: ['unexpected', SAID, 'musette backup --verify FILE'],
    },
    'after a start',
  ),
}

export const backupState: FeatureState = {
  check: 'backups',
  variables: [...DATABASE_VARIABLES, 'MUSETTE_BACKUP_DIR', 'MUSETTE_BACKUP_EVERY'],
  rules: RULES,
  judge: judgeBackups,
  diagnose,
  status: { name: 'backup', find: findStatus },
  folder: {
    variable: 'MUSETTE_BACKUP_DIR',
    dirOf: (config) => scheduleOf(config).dir,
    readForeign: readForeignBackups,
    rule: RULES.backups_of_others,
  },
  async findCopy(facts) {
    if (scheduleOf(facts.config).dir === undefined) return null
    const { newest } = await facts.once(findBackups)
    return { done_at: newest?.doneAt ?? null, bytes: newest?.bytes ?? null }
  },
}

/**
 * Finds the runs that make and verify backups, and the newest backup in the folder, regardless of the runs. `unreadable`: why the folder
 * cannot be read.
 */
async function findBackups(facts: Facts) {
  const { dir } = scheduleOf(facts.config)
  const { line, lineBeganAt } = await facts.identity()
  const found: { newest?: FoundBackup | undefined; unreadable?: string } = {}
  if (dir !== undefined) {
    const { readNewestBackup } = await import('./backup-folder.ts')
    try {
      found.newest = await readNewestBackup({ dir, line })
    } catch (error) {
      found.unreadable = errorLine(error)
    }
  }
  const made = await facts.read((tx) => findWholeWorkState(tx, 'backup'))
  const verified = await facts.read((tx) => findWholeWorkState(tx, 'backup-verify'))
  return { ...found, made, verified, lineBeganAt }
}

/** Time allowed for the first default backup, ms: the daemon checks once a day, from half a day after the tables were made. */
const FIRST_WITHIN_MS = 2 * DAY

/** Reports a backup as late after two intervals, and a comparison as late after three weeks. */
async function judgeBackups(facts: Facts): Promise<Finding[]> {
  const { now } = facts
  const { dir, isDefault, everyMs } = scheduleOf(facts.config)
  if (dir === undefined) return []
  const { newest, unreadable, made, verified, lineBeganAt } = await facts.once(findBackups)
  const since = newest?.doneAt ?? null
  const of = (rule: Rule, found: string) => [
    makeFinding(rule, found, { since, DIR: dir, ...(newest && { FILE: newest.path }) }),
  ]
  if (unreadable !== undefined) return of(RULES.backup_failed, unreadable)
  const ageOf = (at: Date | null) => (at ? now.getTime() - at.getTime() : 0)
  const last = newest
    ? `the last one was made ${formatAge(newest.doneAt, now)} ago, ${formatBytes(newest.bytes)}`
    : 'there is none yet'
  if (made.outcome === 'failed' || made.outcome === 'abandoned') {
    if (made.errorCode === 'backup_no_room') return of(RULES.backup_no_room, `${made.error}; ${last}`)
    const found = `the last backup failed (${made.error ?? made.outcome}); ${last}`
    // Reported at once, because another backup would not fit on the full disk either.
    return made.errorCode === 'backup_disk_full'
      ? of(RULES.backup_disk_full, `${found}; make room`)
      : of(RULES.backup_failed, found)
  }
  // A backup from before a restore has a different name, so look only for a newer backup.
  if (made.doneAt && made.doneAt > lineBeganAt && !newest) {
    const why = 'it was removed, or this machine does not see the folder'
    const found = `the folder holds no backup of this database, although one was made at ${made.doneAt.toISOString()}`
    return of(RULES.backup_gone, `${found}: ${why}`)
  }
  const isNew = now.getTime() - lineBeganAt.getTime() < FIRST_WITHIN_MS
  if (!newest && isDefault && (isNew || (await facts.statuses()).length === 0))
    return [ok(`${dir}: ${last}; a daemon makes the first one when the mirror is a day old`)]
  if (!newest) return of(RULES.backup_missing, 'there is no backup yet; a running daemon makes one')
  if (ageOf(since) > 2 * everyMs) {
    const due = `one is due every ${formatDuration(everyMs)}`
    return of(RULES.backup_late, `the last backup is ${formatAge(newest.doneAt, now)} old, and ${due}`)
  }
  if (verified.outcome === 'failed') {
    const found = `the last restore and comparison of a backup failed (${verified.error})`
    return of(RULES.backup_unproved, `${found}; ${last}`)
  }
  const unprovedMs = ageOf(verified.doneAt)
  if (unprovedMs > 3 * VERIFY_EVERY_MS) {
    const found = `no backup has been restored and compared for ${formatDuration(unprovedMs)}`
    return of(RULES.backup_unproved, `${found}, and one is due every week; ${last}`)
  }
  const proved = verified.doneAt
    ? `one was restored and compared ${formatAge(verified.doneAt, now)} ago`
    : undefined
  return [ok(`${dir}: ${last}; ${proved ?? 'none has been restored and compared yet'}`)]
}

/** Checks that scheduled backups can be written, that the last backup is recent and did not fail, and that its file can be read. */
async function diagnose({ config, mirror, listed: list }: CheckContext): Promise<readonly Finding[]> {
  const { dataDir, databaseUrl, secretKey } = config
  const { dir, isDefault } = scheduleOf(config)
  if (dir === undefined)
    return [ok('MUSETTE_BACKUP_DIR names no folder: backups are made by musette backup only')]
  const folder = await readWritableFolder(dir, 'MUSETTE_BACKUP_DIR', 'no backup is made')
  if ('wrong' in folder) return [folder.wrong]
  const listed = await list()
  const database = await mirror()
  if (listed.some(({ state }) => state !== 'ok') || 'reason' in database) return listed
  const { line } = await database.store.read(findIdentity)
  const { readBackupManifest, readNewestBackup } = await import('./backup-folder.ts')
  const newest = await readNewestBackup({ dir, line })
  const fault = newest && (await readBackupManifest(newest).then(() => undefined, errorLine))
  if (fault !== undefined)
    return [
      problem(
        'unexpected',
        `${newest?.path} cannot be read: ${fault}`,
        `musette backup ${quoteShell(`${dir}/by-hand.tar`)}`,
      ),
    ]
  const [backups, data] = [await readDevice(dir), await readDevice(dataDir)]
  if (backups === undefined || backups !== data) return listed
  // A backup on the same disk as the embedded database is lost with it. If no folder is set, the advice about the key already says this.
  const lost = `${dir} is on the same disk as the database, and is lost with it; copy the backups elsewhere, or set MUSETTE_BACKUP_DIR to another disk`
  const isBeside = databaseUrl === undefined && !isDefault
  const beside = isBeside ? [warning(lost, `df ${quoteShell(dir)}`)] : []
  if (secretKey || !existsSync(secretKeyPath(dataDir))) return [...listed, ...beside]
  const both = `${dir} and the key in ${dataDir} are on one disk, and are lost or stolen together; keep the key on paper, and copies of the backups elsewhere`
  return [...listed, ...beside, makeFinding(RULES.key_beside_backups, both)]
}

/** Reads a folder's device number; returns undefined if the folder does not exist. */
async function readDevice(dir: string): Promise<number | undefined> {
  const folder = await openFolder(dir).catch(orMissing)
  return folder && closeAfter(folder, async (opened) => (await opened.stats()).dev)
}

/**
 * Finds the newest complete scheduled backup in the folder, and the time of the last comparison; returns null if no folder is configured.
 */
async function findStatus(facts: Facts, finding: Finding | undefined) {
  const { dir } = scheduleOf(facts.config)
  if (dir === undefined) return null
  const { newest, unreadable, made, verified } = await facts.once(findBackups)
  const failure = unreadable === undefined ? made.errorCode : 'backup_file'
  const rule = finding?.rule
  const isFailed = rule && [RULES.backup_failed, RULES.backup_disk_full, RULES.backup_no_room].includes(rule)
  const unproved = rule === RULES.backup_unproved ? RULES.backup_unproved.code : null
  return {
    ...{ dir, done_at: newest?.doneAt ?? null, bytes: newest?.bytes ?? null, file: newest?.path ?? null },
    verified_at: verified.doneAt,
    problem: finding?.found ?? null,
    code: isFailed ? failure : unproved,
  }
}

/** Finds the other databases and lines that have backups in a folder. */
async function readForeignBackups(
  dir: string,
  { identity, line }: DatabaseIdentity,
): Promise<ForeignFolder | undefined> {
  const { readBackupManifest, readBackupsOfOthers } = await import('./backup-folder.ts')
  const paths = await readBackupsOfOthers({ dir, line })
  if (paths.length === 0) return undefined
  const owners = await Promise.all(
    paths.map(
      async (path) => (await readBackupManifest({ path }).catch(() => undefined))?.database?.identity,
    ),
  )
  const count = countOf(paths.length, 'backup', 'backups')
  const found = `${dir} also holds ${count} that this database does not count, verify or remove`
  if (owners.every((owner) => owner === identity)) {
    const why = 'of this database, but from before a restore or of another restore of it'
    return { found: `${found}, ${why}; remove them if not needed`, run: `ls -l ${quoteShell(dir)}` }
  }
  const other = owners.find((owner) => owner !== undefined && owner !== identity)
  const whose = other === undefined ? 'of an unknown database' : `of another database (identity ${other})`
  const own = quoteShell(`${dir}-${identity.slice(0, 8)}`)
  return {
    found: `${found}, ${whose}; give each database a folder of its own`,
    run: `export MUSETTE_BACKUP_DIR=${own}`,
  }
}

export const backupGauges = defineGauges({
  helps: {
    '': {
      musette_backup_age_seconds:
        'Seconds since the last scheduled backup was completed; no line while there is none.',
      musette_backup_seconds:
        'Duration of the last complete scheduled backup, seconds; no line while there is none.',
      musette_backup_bytes: 'Size of the last complete scheduled backup; no line while there is none.',
      musette_backup_failed:
        'Whether the newest scheduled backup that ended failed (1) or not (0); no line while there is none.',
      musette_backup_verified_age_seconds:
        'Seconds since a scheduled backup was restored and compared, row for row; no line while there is none.',
      musette_backup_verify_failed:
        'Whether the newest comparison of a scheduled backup failed (1) or not (0); no line while there is none.',
    },
  },
  async read(facts) {
    // Age and size are the backup file's, not the values in the row of its run.
    const { newest, made, verified } = await facts.once(findBackups)
    return [
      {
        values: {
          musette_backup_age_seconds: newest?.doneAt ?? null,
          musette_backup_seconds: made.seconds,
          musette_backup_bytes: newest?.bytes ?? null,
          musette_backup_failed: hasFailed(made.outcome),
          musette_backup_verified_age_seconds: verified.doneAt,
          musette_backup_verify_failed: hasFailed(verified.outcome),
        },
      },
    ]
  },
})

function hasFailed(outcome: string | null): boolean | null {
  return outcome === null ? null : outcome !== 'done'
}
