CREATE TABLE "training"."workout_definitions" (
	"account_id" integer NOT NULL,
	"path" text NOT NULL,
	"resolved_at" timestamp with time zone,
	"signature" jsonb,
	"failed_at" timestamp with time zone,
	"fetch_error" text,
	CONSTRAINT "workout_definitions_account_id_path_pk" PRIMARY KEY("account_id","path")
);
--> statement-breakpoint
DROP INDEX "training"."activities_to_fetch";--> statement-breakpoint
ALTER TABLE "training"."activities" ADD COLUMN "list_fields" jsonb;--> statement-breakpoint
ALTER TABLE "training"."activities" ADD COLUMN "detail_fields" jsonb;--> statement-breakpoint
ALTER TABLE "training"."samples" ADD COLUMN "ordinal" integer;--> statement-breakpoint
ALTER TABLE "training"."workout_definitions" ADD CONSTRAINT "workout_definitions_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "activities_to_fetch" ON "training"."activities" USING btree ("account_id","started_at" desc) WHERE detail_state = 'wanted' or next_fetch_at is not null;
--> statement-breakpoint
COMMENT ON COLUMN training.activities.list_fields IS 'Name, description, type and start as the activity list last had them; what differs from it is a change';
--> statement-breakpoint
COMMENT ON COLUMN training.activities.detail_fields IS 'The same as the last detail had them, without what it did not tell; in the row it goes before the list, but for a later rename';
--> statement-breakpoint
COMMENT ON COLUMN training.activities.next_fetch_at IS 'When it is asked for (again); NULL: at once when wanted, else not by itself';
--> statement-breakpoint
-- In most rows list and detail say the same. Where they do not, the next comparison of whole lists asks once.
UPDATE training.activities SET list_fields =
  jsonb_build_object('name', name, 'description', description, 'activity_type', activity_type)
  || CASE WHEN started_at IS NULL THEN '{}' ELSE jsonb_build_object(
    'started_at', to_char(started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'timezone', timezone,
    'started_at_local', to_char(started_at_local, 'YYYY-MM-DD HH24:MI:SS.US')) END
WHERE name IS NOT NULL OR started_at IS NOT NULL;
--> statement-breakpoint
UPDATE training.activities SET detail_fields =
  jsonb_build_object('name', name, 'description', description)
  || jsonb_strip_nulls(jsonb_build_object('activity_type', summary ->> 'activity_type',
    'started_at', summary #>> '{start_date,date}'))
WHERE fetched_at IS NOT NULL;
--> statement-breakpoint
-- Rows in which the list has overwritten what the detail said are fetched again.
UPDATE training.activities SET detail_state = 'wanted', summary_hash = NULL, next_fetch_at = NULL
WHERE detail_state = 'mirrored' AND absent_since IS NULL AND (
  summary ->> 'activity_type' IS DISTINCT FROM activity_type AND summary ->> 'activity_type' IS NOT NULL
  OR left(summary #>> '{start_date,date}', 19) <> to_char(started_at_local, 'YYYY-MM-DD HH24:MI:SS'));
--> statement-breakpoint
COMMENT ON TABLE training.workout_definitions IS 'When each workout was resolved to watts and seconds for an account, and why it could not be. Its sets: workout_sets.';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_definitions.account_id IS 'Account, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_definitions.path IS 'Path of the workout, see workouts';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_definitions.resolved_at IS 'When the answer that workout_sets shows was asked for; NULL before the first';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_definitions.signature IS 'Signature of the rider at that time, as far as it is known here';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_definitions.failed_at IS 'When it was last asked for in vain; NULL when the last answer could be used';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_definitions.fetch_error IS 'Why it could not be had then';
--> statement-breakpoint
INSERT INTO training.workout_definitions (account_id, path, resolved_at, signature)
SELECT DISTINCT ON (account_id, path) account_id, path, resolved_at, signature
FROM training.workout_sets ORDER BY account_id, path, position;
--> statement-breakpoint
COMMENT ON COLUMN training.samples.ordinal IS 'Place among the samples of the activity that share this time, from 1; NULL where no other has it. ORDER BY t, ordinal is the order of sample_extras';
--> statement-breakpoint
COMMENT ON COLUMN training.sample_extras.values IS 'One value a sample, in the order of t and ordinal; null where the sample has none; units not told by the service';
--> statement-breakpoint
-- Only the service knows which value belongs to which of two samples of one time: such activities are fetched again.
UPDATE training.activities a SET detail_state = 'wanted', summary_hash = NULL, next_fetch_at = NULL
WHERE detail_state = 'mirrored' AND absent_since IS NULL
  AND EXISTS (SELECT FROM training.sample_extras x WHERE x.activity_id = a.activity_id)
  AND EXISTS (SELECT FROM training.samples s WHERE s.activity_id = a.activity_id GROUP BY s.t HAVING count(*) > 1);