ALTER TABLE "training"."power_curves" ADD COLUMN "account_id" integer;--> statement-breakpoint
ALTER TABLE "training"."power_curves" ADD COLUMN "season" integer;--> statement-breakpoint
CREATE INDEX "sync_runs_latest" ON "training"."sync_runs" USING btree ("account_id","resource","kind","started_at" desc);--> statement-breakpoint
CREATE INDEX "power_curves_best" ON "training"."power_curves" USING btree ("account_id","season","duration_s","watts");