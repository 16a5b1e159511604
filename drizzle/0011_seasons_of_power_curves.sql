COMMENT ON COLUMN training.power_curves."account_id" IS 'Account of the activity, see accounts';
--> statement-breakpoint
COMMENT ON COLUMN training.power_curves."season" IS 'Derived: calendar year of the activity on its own wall clock; NULL when its start cannot be read. For the view power_bests';
--> statement-breakpoint
CREATE FUNCTION musette.move_season() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE training.power_curves SET account_id = NEW.account_id, season = date_part('year', NEW.started_at_local)
  WHERE activity_id = NEW.activity_id;
  RETURN NULL;
END
$$;
--> statement-breakpoint
COMMENT ON FUNCTION musette.move_season() IS 'Moves the power curve of an activity to another season when its start has moved there.';
--> statement-breakpoint
CREATE TRIGGER move_season AFTER UPDATE OF started_at_local ON training.activities
  FOR EACH ROW WHEN (date_part('year', OLD.started_at_local) IS DISTINCT FROM date_part('year', NEW.started_at_local))
  EXECUTE FUNCTION musette.move_season();
--> statement-breakpoint
UPDATE training.power_curves c SET account_id = a.account_id, season = date_part('year', a.started_at_local)
FROM training.activities a WHERE a.activity_id = c.activity_id;
