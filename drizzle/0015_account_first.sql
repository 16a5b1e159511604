DROP INDEX "training"."activities_account_started";--> statement-breakpoint
DROP INDEX "training"."power_curves_best";--> statement-breakpoint
ALTER TABLE "training"."activity_intensity" ADD COLUMN "account_id" integer;--> statement-breakpoint
ALTER TABLE "training"."activity_intensity" ADD COLUMN "day" date;--> statement-breakpoint
ALTER TABLE "training"."activity_intensity" ADD COLUMN "month" date DEFAULT '-infinity' NOT NULL;--> statement-breakpoint
ALTER TABLE "training"."activity_intensity" ADD COLUMN "absent" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "training"."power_curves" ADD COLUMN "started_at_local" timestamp;--> statement-breakpoint
ALTER TABLE "training"."power_curves" ADD COLUMN "source" text;--> statement-breakpoint
-- Before there are indexes to keep. All samples in one pass: a look for each activity would take ten times as long.
UPDATE training.power_curves c SET started_at_local = a.started_at_local, source = s.source
FROM training.activities a LEFT JOIN (
  SELECT activity_id, CASE WHEN bool_or(p_raw IS NOT NULL) THEN 'p_raw' ELSE 'power' END AS source
  FROM training.samples GROUP BY 1
) s USING (activity_id)
WHERE a.activity_id = c.activity_id;
--> statement-breakpoint
UPDATE training.activity_intensity i SET account_id = a.account_id, day = a.started_at_local::date,
  month = coalesce(date_trunc('month', a.started_at_local)::date, '-infinity'), absent = a.absent_since IS NOT NULL
FROM training.activities a WHERE a.activity_id = i.activity_id;
--> statement-breakpoint
CREATE INDEX "activities_newest" ON "training"."activities" USING btree (coalesce(started_at, '-infinity') desc,"activity_id" desc) WHERE absent_since is null;--> statement-breakpoint
CREATE INDEX "sync_runs_newest" ON "training"."sync_runs" USING btree ("started_at" desc,"run_id" desc);--> statement-breakpoint
CREATE INDEX "uploads_newest" ON "training"."uploads" USING btree ("seen_at" desc,"content_id");--> statement-breakpoint
CREATE INDEX "activity_intensity_peaks" ON "training"."activity_intensity" USING btree ("account_id","month","hr_peak" desc) WHERE not absent;--> statement-breakpoint
CREATE INDEX "activities_account_started" ON "training"."activities" USING btree ("account_id","started_at" desc,"activity_id" desc);--> statement-breakpoint
CREATE INDEX "power_curves_best" ON "training"."power_curves" USING btree ("account_id","season","duration_s","watts" desc,"started_at_local","activity_id");--> statement-breakpoint
ALTER TABLE "training"."power_curves" ADD CONSTRAINT "power_curves_source" CHECK (source in ('p_raw', 'power'));
