COMMENT ON COLUMN training.activities."detail_state" IS 'wanted: to be fetched; awaiting_samples: fetched, samples not there yet; mirrored: as the service has it; failed: the last answer could not be used, see fetch_error and next_fetch_at';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."first_seen_at" IS 'When the activity was first seen, in the list or as the answer to an upload';
--> statement-breakpoint
COMMENT ON COLUMN training.activities."next_fetch_at" IS 'Not asked again before this moment; NULL: at once when wanted, else not by itself';
--> statement-breakpoint
COMMENT ON COLUMN training.samples."t" IS 'Time of the sample; a sample whose time cannot be read is not here, but in raw_documents and counted in drift';
