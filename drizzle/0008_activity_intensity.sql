CREATE TABLE "training"."activity_intensity" (
	"activity_id" integer PRIMARY KEY NOT NULL,
	"ftp" double precision,
	"power_z1_s" integer,
	"power_z2_s" integer,
	"power_z3_s" integer,
	"power_z4_s" integer,
	"power_z5_s" integer,
	"power_z6_s" integer,
	"power_z7_s" integer,
	"above_ftp_s" integer,
	"near_mpa_s" integer,
	"hr_peak" integer,
	"hr_at_least_s" integer[]
);
--> statement-breakpoint
ALTER TABLE "training"."activity_intensity" ADD CONSTRAINT "activity_intensity_activity_id_activities_activity_id_fk" FOREIGN KEY ("activity_id") REFERENCES "training"."activities"("activity_id") ON DELETE cascade ON UPDATE no action;