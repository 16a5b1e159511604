import type { Recipe } from './recipe.ts'

/** Questions about how hard it was. */
export const INTENSITY: readonly Recipe[] = [
  {
    number: 5,
    name: 'power_zones_by_week',
    question: 'How much time did I spend in each power zone, week by week?',
    sql: `
      select z.account, z.week, z.activities, z.power_z1_s / 60 as z1_min, z.power_z2_s / 60 as z2_min, z.power_z3_s / 60 as z3_min,
        z.power_z4_s / 60 as z4_min, z.power_z5_s / 60 as z5_min, z.power_z6_s / 60 as z6_min, z.power_z7_s / 60 as z7_min
      from training.accounts c
      cross join lateral (
        select * from training.zones_by_week
        where zones_by_week.account_id = c.account_id and sport = 'cycling'
        order by week desc limit 6
      ) z
      order by z.account, z.week desc;`,
    reading: `
      Minutes on the bike below 55, 75, 90, 105, 120 and 150 % of your threshold on that day, and above. The same view has the zones of the heart
      rate, \`hr_z1_s\` to \`hr_z5_s\`.`,
  },
  {
    number: 6,
    name: 'where_above_threshold',
    question: 'Where did the time above threshold come from?',
    sql: `
      select i.account, i.day, a.name, round(i.ftp) as ftp_w, i.above_ftp_s / 60 as above_min,
        round(100.0 * i.above_ftp_s / nullif(a.elapsed_s, 0)::numeric, 1) as pct_of_ride, round(a.xhss) as high_xss
      from training.today t
      cross join lateral (
        select * from training.ride_intensity r
        where r.account_id = t.account_id and r.day > t.day - 42 and r.above_ftp_s > 0
        order by r.above_ftp_s desc, r.activity_id limit 6
      ) i
      join training.activities a using (activity_id)
      order by i.account, i.above_ftp_s desc, activity_id;`,
    reading: `
      The six rides of the last six weeks with the most minutes above threshold, and their share of the ride.`,
  },
  {
    number: 7,
    name: 'rides_to_the_limit',
    question: 'Which rides took me to my limit?',
    sql: `
      select i.account, i.day, a.name, i.near_mpa_s, a.breakthrough, round(a.max_power) as max_power_w, a.focus
      from training.accounts c
      cross join lateral (
        select * from training.ride_intensity r
        where r.account_id = c.account_id and r.near_mpa_s > 0
        order by r.near_mpa_s desc, r.day desc, r.activity_id limit 6
      ) i
      join training.activities a using (activity_id)
      order by i.account, i.near_mpa_s desc, i.day desc, activity_id;`,
    reading: `
      Seconds at 90 % or more of the power that was available at that moment (MPA). Many seconds without a breakthrough mean that you
      came near your limit and did not exceed it.`,
  },
]
