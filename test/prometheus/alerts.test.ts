import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { FEATURES } from '../../src/features/index.ts'
import { makeMetrics } from '../../src/features/metrics/metrics.ts'
import { loadGauges } from '../../src/features/metrics/routes.ts'
import { findBinary, runsWith } from '../kit/binaries.ts'
import { readTable } from '../kit/table.ts'
import { openTempDir } from '../kit/temp-dir.ts'

const RULES = fileURLToPath(new URL('../../config/prometheus/musette.rules.yml', import.meta.url))
const promtool = findBinary(['promtool'])
const WITHOUT = 'promtool is not installed; run: apt-get install prometheus'

type Rule = {
  alert: string
  expr: string
  labels: Record<string, string>
  annotations: Record<string, string>
}
const readRules = async () =>
  (parse(await readFile(RULES, 'utf8')) as { groups: Array<{ rules: Rule[] }> }).groups.flatMap(
    ({ rules }) => rules,
  )

/**
 * The alarm | a series of its case | its values minute by minute that fire it | that do not | the labels of the series that the alarm
 * has | its value. A further line of an alarm is a further series.
 */
const SERIES = readTable(`
MusetteDown | musette_build_info{version="1"} | _x60 | 1x60 |
MusettePartDown | musette_up{part="queue"} | 0x60 | 1x60 | part
MusetteNeedsLogin | musette_account_needs_login{account="me"} | 1x60 | 0x60 | account
MusetteMirrorLate | musette_account_freshness_seconds{account="me"} | 4000+60x60 | 30x60 | account
MusetteMirrorLate | musette_account_needs_login{account="me"} | 0x60 | 0x60 | account
MusetteTokensRefused | musette_token_refused_seconds{account="me"} | 4000+60x60 | 0x60 | account
MusetteTokenEnds | musette_token_expires_seconds{account="me"} | 80000-60x60 | 80000-60x60 | account
MusetteTokenEnds | musette_token_refresh_failures{account="me"} | 3x60 | 0x60 | account
MusetteFilesWait | musette_drop_folder_waiting{code="not_whole"} | 2x60 | 0x60 | | 2
MusetteFilesWait | musette_drop_folder_waiting{code="too_large"} | 0x60 | 0x60 | | 2
MusetteUploadRefused | musette_uploads{account="me",state="refused"} | 4x30 5x30 | 4x60 | account state
MusetteActivitiesFailed | musette_activities{account="me",state="failed"} | 3x1600 | 0x1600 | account state | 3
MusetteRunsFail | musette_runs_total{resource="activities",kind="poll",outcome="failed"} | 0+1x60 | 0x60 | resource
MusetteRunsFail | musette_runs_total{resource="activities",kind="poll",outcome="done"} | 0+1x60 | 0+1x60 | resource
MusetteQueuePaused | musette_queue_paused{queue="polls"} | 1x60 | 0x60 | queue
MusetteBackupFailed | musette_backup_failed | 1x60 | 0x60 |
MusetteBackupOld | musette_backup_age_seconds | 180001+60x60 | 90000+60x60 |
MusetteBackupUnproved | musette_backup_verify_failed | 1x60 | 0x60 |
MusetteExportOld | musette_export_age_seconds | 10801+60x60 | 30x60 |
MusetteMessagesGivenUp | musette_webhook_messages{webhook="home",state="given_up"} | 1x60 | 0x60 | webhook state
MusetteMqttDown | musette_mqtt_connected | 0x60 | 1x60 |
MusetteHeartbeatOld | musette_heartbeat_age_seconds | 7201+60x60 | 900x60 |
MusetteSlotKeepsLog | musette_replication_slot_wal_bytes{name="m"} | 6e9x60 | 1e9x60 | name
MusetteOrderOfTextsChanged | musette_database_collation_changed{name="m"} | 1x60 | 0x60 | name
MusetteWraparoundNear | musette_database_transaction_age{name="m"} | 1.3e9x60 | 2e8x60 | name`)
const ALERTS = [...new Set(SERIES.map(([alert = '']) => alert))]

/** Fills the labels and the value into a text, as Prometheus does. */
function fill(text: string, labels: Record<string, string>, value: string | undefined): string {
  return text
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? `no label ${name}`)
    .replaceAll('{{ $value }}', String(value))
}

describe('the alarms for Prometheus', () => {
  it('have a case each, a command, and existing metrics', async () => {
    const rules = await readRules()
    expect(rules.map(({ alert }) => alert).sort()).toEqual(ALERTS.toSorted())
    const gauges = await loadGauges(FEATURES)
    const metrics = makeMetrics({ now: () => new Date() }, { version: '1', gauges })
    const page = await metrics.render({ database: undefined, queue: undefined })
    const known = [...page.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name)
    for (const { alert, expr, annotations } of rules) {
      const names = [...expr.matchAll(/musette_\w+/g)].map(([name]) => name)
      expect(known, alert).toEqual(expect.arrayContaining(names))
      expect(annotations.description, alert).toMatch(/[Rr]un musette /)
    }
  })

  const title = 'fire, each in its own case alone, and are quiet else'
  it.runIf(runsWith(promtool))(`${title} (${promtool ? 'promtool' : WITHOUT})`, async () => {
    const rules = await readRules()
    const temp = await openTempDir('alerts')
    onTestFinished(() => temp.close())
    /** The case of an alarm, or the quiet values of all. */
    const testOf = (fires?: string) => {
      const rows = SERIES.filter(([alert]) => fires === undefined || alert === fires)
      const rule = rules.find(({ alert }) => alert === fires)
      const [[, series = '', values = '', , names = '', value] = []] = rows
      const all = [...series.matchAll(/(\w+)="(\w+)"/g)].map(([, name, text]) => [name, text] as const)
      const labels = Object.fromEntries(all.filter(([name]) => names.split(' ').includes(`${name}`)))
      const input = rows.map(([, name, wrong, quiet]) => ({
        series: name,
        values: fires === undefined ? quiet?.replace('x60', 'x1600') : wrong,
      }))
      if (fires !== undefined && fires !== 'MusetteDown')
        input.push({ series: 'musette_build_info{version="always"}', values: '1x1600' })
      const texts = Object.entries(rule?.annotations ?? {})
      const annotations = Object.fromEntries(texts.map(([name, text]) => [name, fill(text, labels, value)]))
      const expected = { exp_labels: { ...labels, ...rule?.labels }, exp_annotations: annotations }
      return {
        interval: '1m',
        input_series: input,
        alert_rule_test: rules.map(({ alert }) => ({
          eval_time: fires === undefined || values.endsWith('x1600') ? '1500m' : '55m',
          alertname: alert,
          exp_alerts: alert === fires ? [expected] : [],
        })),
      }
    }
    const tests = [undefined, ...ALERTS].map(testOf)
    const file = join(temp.path, 'tests.yml')
    await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '5m', tests }))
    const ran = promisify(execFile)(promtool ?? '', ['test', 'rules', file])
    const { stdout } = await ran.catch((error: { stdout: string; stderr: string }) => {
      throw new Error(`${error.stdout}${error.stderr}`)
    })
    expect(stdout).toContain('SUCCESS')
  })
})
