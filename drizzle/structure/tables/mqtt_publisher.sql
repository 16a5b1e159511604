-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0013_mqtt_publisher
CREATE TABLE musette.mqtt_publisher (
  id integer DEFAULT 1 NOT NULL,
  publisher_id uuid DEFAULT gen_random_uuid() NOT NULL,
  change_id bigint NOT NULL,
  looked_at timestamp with time zone,
  published_at timestamp with time zone,
  problem text,
  CONSTRAINT mqtt_publisher_pkey PRIMARY KEY (id),
  CONSTRAINT mqtt_publisher_one CHECK (id = 1)
);

-- Comments, last changed by 0013_mqtt_publisher
COMMENT ON TABLE musette.mqtt_publisher IS 'Who publishes by MQTT: one row. Address and password of the broker are in the settings only.';
COMMENT ON COLUMN musette.mqtt_publisher.id IS 'Always 1: there is one row';
COMMENT ON COLUMN musette.mqtt_publisher.publisher_id IS 'Names the devices at the broker: they stay the same while this database lives, and after a restore';
COMMENT ON COLUMN musette.mqtt_publisher.change_id IS 'The last change of training.changes whose events the broker has taken';
COMMENT ON COLUMN musette.mqtt_publisher.looked_at IS 'When a connected daemon last compared the mirror with what it has published, or could not connect';
COMMENT ON COLUMN musette.mqtt_publisher.published_at IS 'When something was last published';
COMMENT ON COLUMN musette.mqtt_publisher.problem IS 'Why the broker cannot be used; NULL while it can';
