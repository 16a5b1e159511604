COMMENT ON COLUMN training.activities."difficulty" IS 'Difficulty score; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xhss" IS 'Training load score, high part; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xlss" IS 'Training load score, low part; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xpss" IS 'Training load score, peak part; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."xss" IS 'Training load score, total; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."target_high" IS 'Recommended training load score, high; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."target_low" IS 'Recommended training load score, low; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."target_peak" IS 'Recommended training load score, peak; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."target_total" IS 'Recommended training load score, total; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.training_info."wotd_difficulty" IS 'Workout of the day: difficulty score; unit not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.sample_extras."values" IS 'One value a sample, in the order of time; null where the sample has none; units not told by the service';
--> statement-breakpoint
COMMENT ON COLUMN training.activity_revisions."changes" IS 'Column names with the value before and the value after, in the units of those columns: {"xss":[old,new]}';
