-- `npm run docs` writes this file from a migrated database. To change what it describes, write a migration.

-- Definition, last changed by 0033_form_by_day
CREATE OR REPLACE FUNCTION musette.follows(load double precision[], next double precision[], score double precision[], days double precision,
  training double precision[], tau double precision[], gain double precision[], tolerance double precision[], convention text) RETURNS boolean
  LANGUAGE sql IMMUTABLE PARALLEL SAFE
  RETURN abs(musette.next_load(load[1], score[1], days, training[1], tau[1], gain[1], convention) - next[1]) <= tolerance[1]
    AND abs(musette.next_load(load[2], score[2], days, training[2], tau[2], gain[2], convention) - next[2]) <= tolerance[2]
    AND abs(musette.next_load(load[3], score[3], days, training[3], tau[3], gain[3], convention) - next[3]) <= tolerance[3];

-- Comments, last changed by 0033_form_by_day
COMMENT ON FUNCTION musette.follows(double precision[],double precision[],double precision[],double precision,double precision[],double precision[],double precision[],double precision[],text) IS 'Whether the loads of the next activity follow from those of this one.';
