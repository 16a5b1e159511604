COMMENT ON COLUMN training.uploads."seen_at" IS 'When the content was first seen, or seen anew after a refusal or by --force';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."next_try_at" IS 'When it is sent again (seen), given up by its sender (sending) or looked for (unconfirmed, accepted); NULL when nothing is due';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."settle_after" IS 'While unconfirmed: when an activity that is still not listed counts as not arrived';
--> statement-breakpoint
COMMENT ON COLUMN training.uploads."looks" IS 'Looks at the activity list since the last change of state';
