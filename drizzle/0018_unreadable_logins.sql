ALTER TABLE "musette"."credentials" ADD COLUMN "unreadable" boolean DEFAULT false NOT NULL;--> statement-breakpoint
COMMENT ON COLUMN musette.credentials.unreadable IS 'Whether the account is parked because its tokens cannot be read; a reading that succeeds, or a login, ends that.';
