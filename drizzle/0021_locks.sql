CREATE TABLE "musette"."locks" (
	"name" text PRIMARY KEY NOT NULL
);

--> statement-breakpoint
COMMENT ON SCHEMA "musette" IS 'What readers must not reach: sealed tokens, locks and the journal of migrations.';
--> statement-breakpoint
COMMENT ON TABLE musette.locks IS 'Rows that transactions lock, so that one at a time does what they name; nothing reads them.';
--> statement-breakpoint
COMMENT ON COLUMN musette.locks.name IS 'What one transaction at a time does, and for which account, service or folder';
