CREATE TABLE "musette"."ended_sessions" (
	"session_id" text PRIMARY KEY NOT NULL,
	"ends_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
COMMENT ON TABLE musette.ended_sessions IS 'Sessions of the dashboard that were signed out before their time; removed once they have ended by themselves.';
--> statement-breakpoint
COMMENT ON COLUMN musette.ended_sessions.session_id IS 'The random id in the session cookie; without its signature it opens nothing.';
--> statement-breakpoint
COMMENT ON COLUMN musette.ended_sessions.ends_at IS 'When the session would have ended by itself.';
