import { findWholeWorkState } from '../../core/store/runs.ts'
import { defineGauges } from '../../program/frame/gauges.ts'
import { readNewest } from './state.ts'

export const backupGauges = defineGauges({
  helps: {
    '': {
      musette_backup_age_seconds:
        'Seconds since the last scheduled backup was complete; no line while there is none.',
      musette_backup_seconds:
        'Seconds that the last complete scheduled backup took; no line while there is none.',
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
    const made = await facts.read((tx) => findWholeWorkState(tx, 'backup'))
    const verified = await facts.read((tx) => findWholeWorkState(tx, 'backup-verify'))
    // Age and size are those of the actual file, not of its row.
    const { newest } = await facts.once(readNewest)
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
