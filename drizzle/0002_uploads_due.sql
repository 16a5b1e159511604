ALTER TABLE "training"."uploads" ADD COLUMN "next_try_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "training"."uploads" ADD COLUMN "settle_after" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "training"."uploads" ADD COLUMN "looks" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "uploads_due" ON "training"."uploads" USING btree ("next_try_at") WHERE next_try_at is not null;