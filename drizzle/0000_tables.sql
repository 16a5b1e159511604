CREATE SCHEMA IF NOT EXISTS "musette";
--> statement-breakpoint
CREATE SCHEMA IF NOT EXISTS "training";
--> statement-breakpoint
CREATE TABLE "training"."accounts" (
	"account_id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "training"."accounts_account_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"base_url" text NOT NULL,
	"needs_login" boolean DEFAULT true NOT NULL,
	"last_error" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "accounts_name" UNIQUE("name")
);
--> statement-breakpoint
CREATE TABLE "musette"."credentials" (
	"account_id" integer PRIMARY KEY NOT NULL,
	"client_id" text NOT NULL,
	"client_secret" "bytea" NOT NULL,
	"access_token" "bytea" NOT NULL,
	"refresh_token" "bytea" NOT NULL,
	"username" text,
	"password" "bytea",
	"key_id" text NOT NULL,
	"obtained_at" timestamp with time zone NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"not_before" timestamp with time zone,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "training"."activities" (
	"activity_id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "training"."activities_activity_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"account_id" integer NOT NULL,
	"path" text NOT NULL,
	"name" text,
	"description" text,
	"activity_type" text,
	"started_at" timestamp with time zone,
	"timezone" text,
	"started_at_local" timestamp,
	"detail_state" text DEFAULT 'wanted' NOT NULL,
	"sample_count" integer,
	"elapsed_s" double precision,
	"max_power" double precision,
	"avg_power" double precision,
	"max_cadence" double precision,
	"total_elevation_gain" double precision,
	"total_calories" double precision,
	"xss" double precision,
	"xlss" double precision,
	"xhss" double precision,
	"xpss" double precision,
	"xep" double precision,
	"mep" double precision,
	"tws" double precision,
	"sp" double precision,
	"sfd" double precision,
	"focus" text,
	"specificity" text,
	"difficulty" double precision,
	"difficulty_rating" text,
	"distance" double precision,
	"duration" double precision,
	"sig_ftp" double precision,
	"sig_atc" double precision,
	"sig_pp" double precision,
	"prev_sig_ftp" double precision,
	"prev_sig_atc" double precision,
	"prev_sig_pp" double precision,
	"prev_sig_ltp" double precision,
	"medal" double precision,
	"breakthrough" double precision,
	"total_grams_carbs" double precision,
	"total_grams_fat" double precision,
	"progression_date" text,
	"tl_ftp" double precision,
	"tl_hie" double precision,
	"tl_pp" double precision,
	"rl_ftp" double precision,
	"rl_hie" double precision,
	"rl_pp" double precision,
	"form" double precision,
	"training_status" double precision,
	"freshness" text,
	"street_view" text,
	"activity_map" text,
	"chart_view" text,
	"summary" jsonb,
	"absent_since" timestamp with time zone,
	"first_seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	"listed_at" timestamp with time zone NOT NULL,
	"fetched_at" timestamp with time zone,
	"wanted_at" timestamp with time zone NOT NULL,
	"summary_hash" text,
	"next_fetch_at" timestamp with time zone,
	"fetch_attempts" integer DEFAULT 0 NOT NULL,
	"fetch_error" text,
	CONSTRAINT "activities_account_path" UNIQUE("account_id","path"),
	CONSTRAINT "activities_detail_state" CHECK (detail_state in ('wanted', 'awaiting_samples', 'mirrored', 'failed'))
);
--> statement-breakpoint
CREATE TABLE "training"."activity_revisions" (
	"activity_id" integer NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"changes" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "training"."drift" (
	"endpoint" text NOT NULL,
	"field" text NOT NULL,
	"kind" text NOT NULL,
	"example" text,
	"first_seen_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"times" bigint DEFAULT 1 NOT NULL,
	CONSTRAINT "drift_endpoint_field_kind_pk" PRIMARY KEY("endpoint","field","kind")
);
--> statement-breakpoint
CREATE TABLE "training"."sync_cursors" (
	"account_id" integer NOT NULL,
	"resource" text NOT NULL,
	"updated_from" timestamp with time zone,
	"advanced_at" timestamp with time zone,
	"list_cap" integer,
	"list_checked_at" timestamp with time zone,
	CONSTRAINT "sync_cursors_account_id_resource_pk" PRIMARY KEY("account_id","resource")
);
--> statement-breakpoint
CREATE TABLE "training"."sync_runs" (
	"run_id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "training"."sync_runs_run_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"account_id" integer,
	"resource" text NOT NULL,
	"kind" text NOT NULL,
	"started_at" timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
	"finished_at" timestamp with time zone,
	"outcome" text DEFAULT 'running' NOT NULL,
	"listed" integer,
	"changed" integer,
	"fetched" integer,
	"absent" integer,
	"failed" integer,
	"error_code" text,
	"error" text,
	CONSTRAINT "sync_runs_outcome" CHECK (outcome in ('running', 'done', 'failed', 'partial', 'abandoned'))
);
--> statement-breakpoint
CREATE TABLE "training"."uploads" (
	"account_id" integer NOT NULL,
	"content_id" text NOT NULL,
	"file_name" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"started_at" timestamp with time zone,
	"state" text DEFAULT 'seen' NOT NULL,
	"activity_path" text,
	"activity_id" integer,
	"reason" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"seen_at" timestamp with time zone NOT NULL,
	"sent_at" timestamp with time zone,
	"accepted_at" timestamp with time zone,
	"mirrored_at" timestamp with time zone,
	CONSTRAINT "uploads_account_id_content_id_pk" PRIMARY KEY("account_id","content_id"),
	CONSTRAINT "uploads_state" CHECK (state in ('seen', 'sending', 'unconfirmed', 'accepted', 'mirrored', 'duplicate', 'refused'))
);
--> statement-breakpoint
CREATE TABLE "training"."training_info" (
	"account_id" integer NOT NULL,
	"observed_at" timestamp with time zone NOT NULL,
	"last_seen_at" timestamp with time zone NOT NULL,
	"status" text,
	"weight_kg" double precision,
	"ftp" double precision,
	"ltp" double precision,
	"hie" double precision,
	"pp" double precision,
	"tl_low" double precision,
	"tl_high" double precision,
	"tl_peak" double precision,
	"tl_total" double precision,
	"target_low" double precision,
	"target_high" double precision,
	"target_peak" double precision,
	"target_total" double precision,
	"source" text,
	"wotd_type" text,
	"wotd_name" text,
	"wotd_workout_id" text,
	"wotd_description" text,
	"wotd_difficulty" double precision,
	"wotd_url" text,
	"raw" jsonb,
	CONSTRAINT "training_info_account_id_observed_at_pk" PRIMARY KEY("account_id","observed_at")
);
--> statement-breakpoint
CREATE TABLE "training"."workout_files" (
	"account_id" integer NOT NULL,
	"workout_id" text NOT NULL,
	"format" text NOT NULL,
	"content" text NOT NULL,
	"sha256" text NOT NULL,
	"fetched_at" timestamp with time zone NOT NULL,
	CONSTRAINT "workout_files_account_id_workout_id_format_pk" PRIMARY KEY("account_id","workout_id","format")
);
--> statement-breakpoint
CREATE TABLE "training"."workout_sets" (
	"account_id" integer NOT NULL,
	"path" text NOT NULL,
	"position" integer NOT NULL,
	"name" text,
	"index" integer,
	"power" double precision,
	"duration" double precision,
	"power_rest" double precision,
	"duration_rest" double precision,
	"interval_count" integer,
	"resolved_at" timestamp with time zone NOT NULL,
	"signature" jsonb,
	CONSTRAINT "workout_sets_account_id_path_position_pk" PRIMARY KEY("account_id","path","position")
);
--> statement-breakpoint
CREATE TABLE "training"."workouts" (
	"account_id" integer,
	"path" text NOT NULL,
	"name" text,
	"description" text,
	"last_modified" timestamp with time zone,
	"absent_since" timestamp with time zone,
	"raw" jsonb
);
--> statement-breakpoint
CREATE TABLE "training"."power_curves" (
	"activity_id" integer NOT NULL,
	"duration_s" integer NOT NULL,
	"watts" real NOT NULL,
	CONSTRAINT "power_curves_activity_id_duration_s_pk" PRIMARY KEY("activity_id","duration_s")
);
--> statement-breakpoint
CREATE TABLE "training"."raw_documents" (
	"activity_id" integer PRIMARY KEY NOT NULL,
	"fetched_at" timestamp with time zone NOT NULL,
	"sha256" text NOT NULL,
	"encoding" text NOT NULL,
	"body" "bytea" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "training"."sample_extras" (
	"activity_id" integer NOT NULL,
	"field" text NOT NULL,
	"values" jsonb NOT NULL,
	CONSTRAINT "sample_extras_activity_id_field_pk" PRIMARY KEY("activity_id","field")
);
--> statement-breakpoint
CREATE TABLE "training"."samples" (
	"activity_id" integer NOT NULL,
	"t" timestamp with time zone,
	"power" real,
	"mpa" real,
	"cad" real,
	"alt" real,
	"hr" real,
	"spd" real,
	"tgt" real,
	"lat" double precision,
	"lng" double precision,
	"dist" real,
	"tws" real,
	"xds" real,
	"p_raw" real,
	"lws" real,
	"hws" real,
	"pws" real
);
--> statement-breakpoint
ALTER TABLE "musette"."credentials" ADD CONSTRAINT "credentials_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."activities" ADD CONSTRAINT "activities_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."activity_revisions" ADD CONSTRAINT "activity_revisions_activity_id_activities_activity_id_fk" FOREIGN KEY ("activity_id") REFERENCES "training"."activities"("activity_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."sync_cursors" ADD CONSTRAINT "sync_cursors_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."sync_runs" ADD CONSTRAINT "sync_runs_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."uploads" ADD CONSTRAINT "uploads_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."uploads" ADD CONSTRAINT "uploads_activity_id_activities_activity_id_fk" FOREIGN KEY ("activity_id") REFERENCES "training"."activities"("activity_id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."training_info" ADD CONSTRAINT "training_info_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."workout_files" ADD CONSTRAINT "workout_files_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."workout_sets" ADD CONSTRAINT "workout_sets_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."workouts" ADD CONSTRAINT "workouts_account_id_accounts_account_id_fk" FOREIGN KEY ("account_id") REFERENCES "training"."accounts"("account_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."power_curves" ADD CONSTRAINT "power_curves_activity_id_activities_activity_id_fk" FOREIGN KEY ("activity_id") REFERENCES "training"."activities"("activity_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."raw_documents" ADD CONSTRAINT "raw_documents_activity_id_activities_activity_id_fk" FOREIGN KEY ("activity_id") REFERENCES "training"."activities"("activity_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "training"."sample_extras" ADD CONSTRAINT "sample_extras_activity_id_activities_activity_id_fk" FOREIGN KEY ("activity_id") REFERENCES "training"."activities"("activity_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "activities_account_started" ON "training"."activities" USING btree ("account_id","started_at" desc);--> statement-breakpoint
CREATE INDEX "activities_to_fetch" ON "training"."activities" USING btree ("account_id","started_at" desc) WHERE detail_state in ('wanted', 'awaiting_samples', 'failed');--> statement-breakpoint
CREATE INDEX "activity_revisions_activity" ON "training"."activity_revisions" USING btree ("activity_id","observed_at");--> statement-breakpoint
CREATE INDEX "sync_runs_account_started" ON "training"."sync_runs" USING btree ("account_id","started_at" desc);--> statement-breakpoint
CREATE INDEX "uploads_activity" ON "training"."uploads" USING btree ("activity_id");--> statement-breakpoint
CREATE UNIQUE INDEX "workouts_account_path" ON "training"."workouts" USING btree ("account_id","path") WHERE account_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "workouts_default_path" ON "training"."workouts" USING btree ("path") WHERE account_id is null;--> statement-breakpoint
CREATE INDEX "samples_activity" ON "training"."samples" USING brin ("activity_id" int4_minmax_multi_ops) WITH (pages_per_range=32,autosummarize=true);