import type { Account } from '../../core/store/account-rows.ts'
import { VERSION } from '../../kit/program-folder.ts'

/** The default prefix of Home Assistant's discovery topics. */
const DISCOVERY = 'homeassistant'
/** Home Assistant publishes `online` on this topic when it starts. */
export const BIRTH_TOPIC = `${DISCOVERY}/status`

/** The topics of all buttons; `+` matches any device. */
export const POLL_TOPICS = 'musette/+/poll'

/** The event of an activity that is mirrored with its samples and scores for the first time. */
export const NEW_ACTIVITY = 'activity.new'
/** The events of an account's event entity; these are kinds of the change feed. */
export const EVENT_KINDS = ['upload.mirrored', 'upload.refused', 'login.lost', 'login.restored'] as const

/** Returns the client id at the broker. A copy of a database has another line, and so its own connection. */
export function clientIdOf(line: string): string {
  return `musette_${line.slice(0, 8)}`
}

/** Returns the prefix of the device names; a restore keeps it. */
function devicesOf(publisherId: string): string {
  return `musette_${publisherId.slice(0, 8)}`
}

/** Returns the topic on which the publisher says `online` or `offline`; the broker says `offline` if the publisher's connection is lost. */
export function availabilityTopicOf(publisherId: string): string {
  return `musette/${devicesOf(publisherId)}/availability`
}

/** Returns the topic that says which line of the database publishes the devices. */
export function lineTopicOf(publisherId: string): string {
  return `musette/${devicesOf(publisherId)}/line`
}

/** Returns the topics of an account's device; a restore keeps them. */
export function topicsOf(publisherId: string, accountId: number) {
  const device = deviceIdOf(publisherId, accountId)
  const base = `musette/${device}`
  return {
    config: `${DISCOVERY}/device/${device}/config`,
    state: `${base}/state`,
    workout: `${base}/workout`,
    activity: `${base}/activity`,
    event: `${base}/event`,
    poll: `${base}/poll`,
    availability: availabilityTopicOf(publisherId),
  }
}

function deviceIdOf(publisherId: string, accountId: number): string {
  return `${devicesOf(publisherId)}_${accountId}`
}

/** A sensor in the terms of Home Assistant's discovery; `attributes` names the topic with more facts. */
type Sensor = {
  name: string
  icon?: string
  unit_of_measurement?: string
  device_class?: string
  /** left out for texts and times, for which Home Assistant keeps no statistics */
  state_class?: 'measurement' | 'total'
  suggested_display_precision?: number
  entity_category?: 'diagnostic'
  last_reset_value_template?: string
  attributes?: 'workout' | 'activity'
}

const rounded = (digits: number) =>
  ({ state_class: 'measurement', suggested_display_precision: digits }) as const
const measured = (unit: string, digits: number) =>
  ({ unit_of_measurement: unit, ...rounded(digits) }) as const
const power = { device_class: 'power', ...measured('W', 0) } as const
const load = { ...measured('XSS/d', 1), icon: 'mdi:chart-line' } as const
const xss = { ...measured('XSS', 0), icon: 'mdi:fire' } as const
const time = { device_class: 'timestamp' } as const
const diagnostic = { entity_category: 'diagnostic' } as const

/** The sensors of a device, by the keys of DeviceFacts' state. Loads are in XSS a day, as on the service's own pages. */
const SENSORS: Readonly<Record<string, Sensor>> = {
  status: { name: 'Status', icon: 'mdi:battery-heart-variant' },
  freshness: { name: 'Freshness after the last activity', icon: 'mdi:battery-heart-variant' },
  ftp: { name: 'FTP', ...power },
  ltp: { name: 'LTP', ...power },
  hie: { name: 'HIE', device_class: 'energy_storage', ...measured('kJ', 1) },
  pp: { name: 'Peak power', ...power },
  weight_kg: { name: 'Weight', device_class: 'weight', ...measured('kg', 1) },
  tl_low: { name: 'Training load low', ...load },
  tl_high: { name: 'Training load high', ...load },
  tl_peak: { name: 'Training load peak', ...load },
  tl_total: { name: 'Training load', ...load },
  rl_low: { name: 'Recovery load low', ...load },
  rl_high: { name: 'Recovery load high', ...load },
  rl_peak: { name: 'Recovery load peak', ...load },
  rl_total: { name: 'Recovery load', ...load },
  form: { name: 'Form', ...load },
  target_low: { name: 'Target XSS low', ...xss },
  target_high: { name: 'Target XSS high', ...xss },
  target_peak: { name: 'Target XSS peak', ...xss },
  target_total: { name: 'Target XSS', ...xss },
  workout: { name: 'Workout of the day', icon: 'mdi:bike', attributes: 'workout' },
  workout_type: { name: 'Workout type', icon: 'mdi:bike' },
  workout_difficulty: { name: 'Workout difficulty', icon: 'mdi:bike', ...rounded(0) },
  activity: { name: 'Last activity', icon: 'mdi:bike-fast', attributes: 'activity' },
  activity_at: { name: 'Last activity start', ...time },
  activity_xss: { name: 'Last activity XSS', ...xss },
  activity_seconds: { name: 'Last activity duration', device_class: 'duration', ...measured('s', 0) },
  activity_distance: { name: 'Last activity distance', device_class: 'distance', ...measured('km', 1) },
  activity_focus: { name: 'Last activity focus', icon: 'mdi:bullseye-arrow' },
  week_xss: {
    ...{ name: 'XSS of this week', ...xss, state_class: 'total' },
    last_reset_value_template: "{{ value_json.week_started_at or '' }}",
  },
  week_recommended: { name: 'XSS recommended this week', ...xss },
  token_ends_at: { name: 'Token ends', ...time, ...diagnostic },
  polled_at: { name: 'Last poll', ...time, ...diagnostic },
  files_waiting: { name: 'Files waiting', icon: 'mdi:file-clock', ...rounded(0), ...diagnostic },
  files_refused: { name: 'Files refused', icon: 'mdi:file-alert', ...rounded(0), ...diagnostic },
  backup_at: { name: 'Last backup', ...time, ...diagnostic },
}

/** The binary sensors, by the keys of DeviceFacts' state. */
const BINARY: Readonly<Record<string, Sensor>> = {
  activity_breakthrough: { name: 'Last activity breakthrough', icon: 'mdi:trophy' },
  needs_login: { name: 'Needs login', device_class: 'problem', ...diagnostic },
}

/**
 * Makes the discovery payload of an account's device, as in Home Assistant's documentation of MQTT device discovery; with `commands` the
 * device has a button.
 */
export function makeDiscovery(
  account: Pick<Account, 'accountId' | 'name'>,
  { publisherId, commands }: { publisherId: string; commands: boolean },
) {
  const topics = topicsOf(publisherId, account.accountId)
  const device = deviceIdOf(publisherId, account.accountId)
  // Older versions of Home Assistant do not apply the device's `qos` to its entities.
  const common = (key: string) => ({ unique_id: `${device}_${key}`, qos: 1 })
  const sensors = Object.entries(SENSORS).map(([key, { attributes, ...sensor }]) => [
    key,
    {
      ...{ platform: 'sensor', ...common(key), value_template: `{{ value_json.${key} }}`, ...sensor },
      ...(attributes && { json_attributes_topic: topics[attributes] }),
    },
  ])
  const binary = Object.entries(BINARY).map(([key, sensor]) => [
    key,
    {
      ...{ platform: 'binary_sensor', ...common(key), ...sensor },
      value_template: `{{ 'None' if value_json.${key} is none else 'ON' if value_json.${key} else 'OFF' }}`,
    },
  ])
  const events = {
    ...{ platform: 'event', name: 'News', ...common('news'), icon: 'mdi:bell' },
    ...{ event_types: [NEW_ACTIVITY, ...EVENT_KINDS], state_topic: topics.event },
  }
  const button = {
    ...{ platform: 'button', name: 'Poll now', ...common('poll'), icon: 'mdi:refresh' },
    command_topic: topics.poll,
  }
  return {
    device: {
      identifiers: [device],
      name: account.name === 'default' ? 'musette' : `musette ${account.name}`,
      manufacturer: 'musette',
      model: 'Training history',
      sw_version: VERSION,
    },
    origin: { name: 'musette', sw_version: VERSION },
    availability_topic: topics.availability,
    state_topic: topics.state,
    qos: 1,
    components: {
      ...Object.fromEntries([...sensors, ...binary]),
      news: events,
      ...(commands && { poll: button }),
    },
  }
}
