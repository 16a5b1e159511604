-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0000_schema
CREATE TABLE training.fit_devices (
  account_id integer NOT NULL,
  content_id text NOT NULL,
  "position" integer NOT NULL,
  device_index integer,
  kind text,
  manufacturer text,
  product text,
  product_number integer,
  serial_number bigint,
  software_version double precision,
  hardware_version integer,
  battery_voltage double precision,
  battery_status text,
  battery_level_pct integer,
  operating_s double precision,
  connection text,
  first_at timestamp with time zone,
  last_at timestamp with time zone,
  messages integer NOT NULL,
  fields jsonb NOT NULL,
  CONSTRAINT fit_devices_account_id_content_id_position_pk PRIMARY KEY (account_id, content_id, "position"),
  CONSTRAINT fit_devices_file FOREIGN KEY (account_id, content_id) REFERENCES training.fit_files(account_id, content_id) ON DELETE CASCADE
);

-- Comments, last changed by 0000_schema
COMMENT ON TABLE training.fit_devices IS 'The devices and sensors that a FIT file names: one row a device, with what it said last of each thing.';
COMMENT ON COLUMN training.fit_devices.account_id IS 'Account, see accounts';
COMMENT ON COLUMN training.fit_devices.content_id IS 'SHA-256 of the FIT bytes, hex, see fit_files';
COMMENT ON COLUMN training.fit_devices."position" IS 'Place of the device in the file, from 1';
COMMENT ON COLUMN training.fit_devices.device_index IS 'Number of the device in the file; 0 is the one that wrote it';
COMMENT ON COLUMN training.fit_devices.kind IS 'What it is, in the words of the FIT profile, such as bikePower or heartRate; a number that the profile does not know as it is';
COMMENT ON COLUMN training.fit_devices.manufacturer IS 'Maker, in the words of the FIT profile';
COMMENT ON COLUMN training.fit_devices.product IS 'Product: the name that the file gives, else that of the FIT profile (Garmin only)';
COMMENT ON COLUMN training.fit_devices.product_number IS 'Number of the product at its maker';
COMMENT ON COLUMN training.fit_devices.serial_number IS 'Serial number';
COMMENT ON COLUMN training.fit_devices.software_version IS 'Version of its software';
COMMENT ON COLUMN training.fit_devices.hardware_version IS 'Version of its hardware';
COMMENT ON COLUMN training.fit_devices.battery_voltage IS 'Voltage of its battery, V, as it was told last';
COMMENT ON COLUMN training.fit_devices.battery_status IS 'State of its battery, as it was told last: new, good, ok, low, critical, charging, unknown';
COMMENT ON COLUMN training.fit_devices.battery_level_pct IS 'Charge of its battery, %, as it was told last';
COMMENT ON COLUMN training.fit_devices.operating_s IS 'Time of operation since its battery was new, s';
COMMENT ON COLUMN training.fit_devices.connection IS 'How it is connected: ant, antplus, bluetooth, bluetoothLowEnergy, wifi, local';
COMMENT ON COLUMN training.fit_devices.first_at IS 'When it was first named';
COMMENT ON COLUMN training.fit_devices.last_at IS 'When it was last named';
COMMENT ON COLUMN training.fit_devices.messages IS 'How often it was named';
COMMENT ON COLUMN training.fit_devices.fields IS 'Every field of its messages, the last value of each; see fit_laps';

-- Rights, last changed by 0037_held_logins
ALTER TABLE training.fit_devices ENABLE ROW LEVEL SECURITY;
CREATE POLICY everyone ON training.fit_devices TO PUBLIC
  USING (true)
  WITH CHECK (true);
CREATE POLICY musette_account ON training.fit_devices AS RESTRICTIVE FOR SELECT TO PUBLIC
  USING ((( SELECT musette.sees_all() AS sees_all) OR (account_id = ANY (( SELECT musette.visible_accounts() AS visible_accounts)::integer[]))));
GRANT SELECT ON training.fit_devices TO musette_one_account, musette_reader;
