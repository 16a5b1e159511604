-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0013_mqtt_publisher
CREATE OR REPLACE VIEW musette.lock_mqtt AS SELECT true AS lockable;

-- Comments, last changed by 0013_mqtt_publisher
COMMENT ON VIEW musette.lock_mqtt IS 'Locked by the process that publishes by MQTT';
COMMENT ON COLUMN musette.lock_mqtt.lockable IS 'Always true: the lock is what matters';
