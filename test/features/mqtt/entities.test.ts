import { describe, expect, it } from 'vitest'
import { makeDiscovery, topicsOf } from '../../../src/features/mqtt/entities.ts'
import { readTop } from '../../container/dockerfile.ts'
import { readTable, readWords } from '../../kit/table.ts'

const PUBLISHER = '0b8e2f6c-1111-4222-8333-444455556666'
const account = { accountId: 3, name: 'default' }
const discovery = makeDiscovery(account, { publisherId: PUBLISHER, commands: true })

/** From Home Assistant's documentation of the MQTT integration: the allowed members of each part of a discovery payload. */
const DEVICE =
  readWords(`identifiers connections name manufacturer model model_id hw_version sw_version serial_number
  suggested_area configuration_url via_device`)
const ORIGIN = ['name', 'sw_version', 'support_url']
const ROOT =
  readWords(`device origin components availability availability_mode availability_topic availability_template
  payload_available payload_not_available state_topic command_topic qos encoding`)
const COMMON =
  readWords(`platform name unique_id icon entity_category enabled_by_default entity_picture device_class
  json_attributes_topic json_attributes_template default_entity_id qos encoding`)
const PLATFORMS: Record<string, string[]> = {
  sensor:
    readWords(`state_topic value_template unit_of_measurement state_class suggested_display_precision options
    expire_after force_update last_reset_value_template`),
  binary_sensor: readWords(
    'state_topic value_template payload_on payload_off off_delay expire_after force_update',
  ),
  button: ['command_topic', 'command_template', 'payload_press', 'retain'],
  event: ['state_topic', 'value_template', 'event_types'],
}
/** Sensor device classes, their units, and the state classes with statistics. */
const SENSOR_CLASSES = readTable(`
power | mW W kW MW GW TW | measurement
energy_storage | J kJ MJ GJ Wh kWh cal kcal | measurement
weight | kg g mg µg oz lb st | measurement total total_increasing
duration | d h min s ms | measurement total total_increasing
distance | km m cm mm mi yd in | measurement total total_increasing
timestamp | undefined | undefined`)
const BINARY_CLASSES = ['problem', 'connectivity', 'update', 'safety']
const STATE_CLASSES = ['measurement', 'measurement_angle', 'total', 'total_increasing']

type Component = Record<string, unknown> & { platform: string }
const components = Object.entries(discovery.components) as Array<[string, Component]>

describe('the discovery payload of a device', () => {
  it('has the required fields of the documentation, and no unknown ones', () => {
    expect(ROOT).toEqual(expect.arrayContaining(Object.keys(discovery)))
    expect(DEVICE).toEqual(expect.arrayContaining(Object.keys(discovery.device)))
    expect(ORIGIN).toEqual(expect.arrayContaining(Object.keys(discovery.origin)))
    expect(discovery.device.identifiers).toEqual(['musette_0b8e2f6c_3'])
    expect(topicsOf(PUBLISHER, 3).config).toMatch(/^homeassistant\/device\/[a-zA-Z0-9_-]+\/config$/)
    for (const [key, component] of components) {
      expect([...COMMON, ...(PLATFORMS[component.platform] ?? [])], key).toEqual(
        expect.arrayContaining(Object.keys(component)),
      )
      expect(component.qos, key).toBe(1)
      expect(component.unique_id, key).toBe(`musette_0b8e2f6c_3_${key}`)
      if (component.entity_category !== undefined) expect(component.entity_category, key).toBe('diagnostic')
      if (component.icon !== undefined) expect(component.icon, key).toMatch(/^mdi:[a-z-]+$/)
    }
    const names = components.map(([, { name }]) => name)
    expect(new Set(names).size).toBe(names.length)
  })

  it('has matching units, device classes and state classes, so that statistics work', () => {
    for (const [key, { platform, ...component }] of components) {
      const { device_class: deviceClass, unit_of_measurement: unit, state_class: state } = component
      if (platform === 'binary_sensor' && deviceClass !== undefined)
        expect(BINARY_CLASSES, key).toContain(deviceClass)
      if (platform !== 'sensor') continue
      if (state !== undefined) expect(STATE_CLASSES, key).toContain(state)
      // Home Assistant takes the weekly restart of a total for a large loss unless it knows the time of the restart.
      expect(Boolean(component.last_reset_value_template), key).toBe(state === 'total')
      if (unit !== undefined) expect(state, key).toBeDefined()
      if (deviceClass === undefined) continue
      const [, units = '', states = ''] = SENSOR_CLASSES.find(([name]) => name === deviceClass) ?? []
      expect(units.split(' '), key).toContain(String(unit))
      expect(states.split(' '), key).toContain(String(state))
    }
  })

  it('gives the entities the ids in docs/recipes.md', () => {
    const slug = (text: unknown) =>
      String(text)
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '_')
    const idOf = ({ platform, name }: Component) => `${platform}.${slug(discovery.device.name)}_${slug(name)}`
    const ids = components.map(([, component]) => idOf(component))
    const named =
      readTop('docs/recipes.md').match(/\b(?:sensor|binary_sensor|button|event)\.musette_\w+/g) ?? []
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter((id) => !ids.includes(id))).toEqual([])
  })
})
