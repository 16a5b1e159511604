DROP INDEX "training"."workouts_default_path";--> statement-breakpoint
ALTER TABLE "training"."workout_files" ADD COLUMN "made_for" jsonb;--> statement-breakpoint
ALTER TABLE "training"."workouts" ADD COLUMN "base_url" text;--> statement-breakpoint
ALTER TABLE "training"."workouts" ADD COLUMN "changed_at" timestamp with time zone;--> statement-breakpoint
CREATE UNIQUE INDEX "workouts_default_path" ON "training"."workouts" USING btree ("base_url","path") WHERE account_id is null;