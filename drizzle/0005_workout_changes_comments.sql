COMMENT ON COLUMN training.workouts."base_url" IS 'Base URL of the service whose default list it is; NULL for the list of an account';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."last_modified" IS 'When the workout was last changed at the service; a time sent without a zone is read as UTC';
--> statement-breakpoint
COMMENT ON COLUMN training.workouts."changed_at" IS 'When the entry was first listed as it is now, by our clock';
--> statement-breakpoint
COMMENT ON COLUMN training.workout_files."made_for" IS 'Signature of the rider and entry of the workout that the file was made for, as far as they are known here';
