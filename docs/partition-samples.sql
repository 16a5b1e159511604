-- Partitions training.samples by activity_id, a million activities each; docs/scaling.md says when.
begin;
alter table training.samples rename to samples_before;
alter index training.samples_activity rename to samples_before_activity;
alter index training.samples_t rename to samples_before_t;
create table training.samples (like training.samples_before including defaults including comments)
  partition by range (activity_id);
create index samples_activity on training.samples using brin (activity_id int4_minmax_multi_ops)
  with (pages_per_range = 32, autosummarize = on);
create index samples_t on training.samples using brin (t timestamptz_minmax_multi_ops)
  with (pages_per_range = 32, autosummarize = on);
create table training.samples_0 partition of training.samples for values from (minvalue) to (1000000);
create table training.samples_1 partition of training.samples for values from (1000000) to (maxvalue);
alter table training.samples replica identity full;
alter table training.samples_0 replica identity full;
alter table training.samples_1 replica identity full;
insert into training.samples select * from training.samples_before;
do $$
declare view text;
begin
  foreach view in array array['training.sample_extra_values', 'training.ride_samples'] loop
    execute format('create or replace view %s as %s', view, replace(pg_get_viewdef(view), 'samples_before', 'samples'));
  end loop;
end $$;
drop table training.samples_before;
grant select on training.samples to musette_reader;
commit;
