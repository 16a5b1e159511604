import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { FEATURES } from '../../src/features/index.ts'
import { makeMetrics } from '../../src/features/metrics/metrics.ts'
import { loadGauges } from '../../src/features/metrics/routes.ts'
import { findBinary } from '../kit/binaries.ts'
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

/** One case an alarm: the values of each series that fire it and that do not, minute by minute, and the labels of the alarm. */
const CASES: ReadonlyArray<{
  alert: string
  series: Record<string, [fires: string, quiet: string]>
  at?: string
  labels?: Record<string, string>
  value?: number
}> = [
  { alert: 'MusetteDown', series: { 'musette_build_info{version="1"}': ['_x60', '1x60'] } },
  {
    alert: 'MusettePartDown',
    series: { 'musette_up{part="queue"}': ['0x60', '1x60'] },
    labels: { part: 'queue' },
  },
  {
    alert: 'MusetteNeedsLogin',
    series: { 'musette_account_needs_login{account="me"}': ['1x60', '0x60'] },
    labels: { account: 'me' },
  },
  {
    alert: 'MusetteMirrorLate',
    series: {
      'musette_account_freshness_seconds{account="me"}': ['4000+60x60', '30x60'],
      'musette_account_needs_login{account="me"}': ['0x60', '0x60'],
    },
    labels: { account: 'me' },
  },
  {
    alert: 'MusetteTokensRefused',
    series: { 'musette_token_refused_seconds{account="me"}': ['4000+60x60', '0x60'] },
    labels: { account: 'me' },
  },
  {
    alert: 'MusetteTokenEnds',
    series: {
      'musette_token_expires_seconds{account="me"}': ['80000-60x60', '80000-60x60'],
      'musette_token_refresh_failures{account="me"}': ['3x60', '0x60'],
    },
    labels: { account: 'me' },
  },
  {
    alert: 'MusetteFilesWait',
    series: {
      'musette_drop_folder_waiting{code="not_whole"}': ['2x60', '0x60'],
      'musette_drop_folder_waiting{code="too_large"}': ['0x60', '0x60'],
    },
    value: 2,
  },
  {
    alert: 'MusetteUploadRefused',
    series: { 'musette_uploads{account="me",state="refused"}': ['4x30 5x30', '4x60'] },
    labels: { account: 'me', state: 'refused' },
  },
  {
    alert: 'MusetteActivitiesFailed',
    series: { 'musette_activities{account="me",state="failed"}': ['3x1600', '0x1600'] },
    at: '1500m',
    labels: { account: 'me', state: 'failed' },
    value: 3,
  },
  {
    alert: 'MusetteRunsFail',
    series: {
      'musette_runs_total{resource="activities",kind="poll",outcome="failed"}': ['0+1x60', '0x60'],
      'musette_runs_total{resource="activities",kind="poll",outcome="done"}': ['0+1x60', '0+1x60'],
    },
    labels: { resource: 'activities' },
  },
  {
    alert: 'MusetteQueuePaused',
    series: { 'musette_queue_paused{queue="polls"}': ['1x60', '0x60'] },
    labels: { queue: 'polls' },
  },
  { alert: 'MusetteBackupFailed', series: { musette_backup_failed: ['1x60', '0x60'] } },
  { alert: 'MusetteBackupOld', series: { musette_backup_age_seconds: ['180001+60x60', '90000+60x60'] } },
  { alert: 'MusetteBackupUnproved', series: { musette_backup_verify_failed: ['1x60', '0x60'] } },
  { alert: 'MusetteExportOld', series: { musette_export_age_seconds: ['10801+60x60', '30x60'] } },
  {
    alert: 'MusetteMessagesGivenUp',
    series: { 'musette_webhook_messages{webhook="home",state="given_up"}': ['1x60', '0x60'] },
    labels: { webhook: 'home', state: 'given_up' },
  },
  { alert: 'MusetteMqttDown', series: { musette_mqtt_connected: ['0x60', '1x60'] } },
  { alert: 'MusetteHeartbeatOld', series: { musette_heartbeat_age_seconds: ['7201+60x60', '900x60'] } },
  {
    alert: 'MusetteSlotKeepsLog',
    series: { 'musette_replication_slot_wal_bytes{name="m"}': ['6e9x60', '1e9x60'] },
    labels: { name: 'm' },
  },
  {
    alert: 'MusetteOrderOfTextsChanged',
    series: { 'musette_database_collation_changed{name="m"}': ['1x60', '0x60'] },
    labels: { name: 'm' },
  },
  {
    alert: 'MusetteWraparoundNear',
    series: { 'musette_database_transaction_age{name="m"}': ['1.3e9x60', '2e8x60'] },
    labels: { name: 'm' },
  },
]

/** Fills the labels and the value into a text, as Prometheus does. */
function fill(text: string, labels: Record<string, string>, value: number | undefined): string {
  return text
    .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => labels[name] ?? `no label ${name}`)
    .replaceAll('{{ $value }}', String(value))
}

describe('the alarms for Prometheus', () => {
  it('have a case each, a command, and existing metrics', async () => {
    const rules = await readRules()
    expect(rules.map(({ alert }) => alert).sort()).toEqual(CASES.map(({ alert }) => alert).sort())
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

  it.skipIf(!promtool)(
    `fire, each in its own case alone, and are quiet else (${promtool ? 'promtool' : WITHOUT})`,
    async () => {
      const rules = await readRules()
      const temp = await openTempDir('alerts')
      const present = 'musette_build_info{version="always"}'
      const testOf = (
        { alert, series, labels = {}, value, at = '55m' }: (typeof CASES)[number],
        fires: boolean,
      ) => {
        const rule = rules.find((each) => each.alert === alert)
        const input = Object.entries(series).map(([name, values]) => ({
          series: name,
          values: values[fires ? 0 : 1],
        }))
        if (alert !== 'MusetteDown') input.push({ series: present, values: '1x1600' })
        const annotations = Object.fromEntries(
          Object.entries(rule?.annotations ?? {}).map(([name, text]) => [name, fill(text, labels, value)]),
        )
        const expected = { exp_labels: { ...labels, ...rule?.labels }, exp_annotations: annotations }
        return {
          interval: '1m',
          input_series: input,
          alert_rule_test: rules.map((each) => ({
            eval_time: at,
            alertname: each.alert,
            exp_alerts: fires && each.alert === alert ? [expected] : [],
          })),
        }
      }
      try {
        await mkdir(temp.path, { recursive: true })
        const tests = CASES.flatMap((each) => [testOf(each, true), testOf(each, false)])
        const file = join(temp.path, 'tests.yml')
        await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }))
        const { stdout } = await promisify(execFile)(promtool ?? '', ['test', 'rules', file]).catch(
          (error: { stdout: string; stderr: string }) => {
            throw new Error(`${error.stdout}${error.stderr}`)
          },
        )
        expect(stdout).toContain('SUCCESS')
      } finally {
        await temp.close()
      }
    },
  )
})
