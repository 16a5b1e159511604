import type { FeatureRows } from '../../kit/feature-rows.ts'

export const ROWS: FeatureRows = {
  env: async () => ({ MUSETTE_MQTT_URL: 'mqtt://127.0.0.1:9' }),
  well: [
    'delete from musette.mqtt_publisher',
    'insert into musette.mqtt_publisher (change_id, looked_at, published_at) values (0, now(), now())',
  ],
  situations: () => `
mqtt_away | update musette.mqtt_publisher set looked_at = now() - interval '4 minutes' | no daemon is connected | musette start
mqtt_failing | update musette.mqtt_publisher set problem = 'it is away' | the daemon does not publish: it is away | musette config`,
}
