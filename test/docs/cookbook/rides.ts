/** Where the rider lives. */
export const ZONE = { style: 3, name: 'America/Toronto' }

/** The rides of June besides the history of the seed: four weeks, the last one the hardest. */
export const RIDES: readonly object[] = [
  ride('2025-06-03T21:30:00Z', 'intervals', 3_600, 'Tuesday intervals'),
  ride('2025-06-05T21:45:00Z', 'tempo', 4_500, 'Sweet spot', { indoor: true }),
  ride('2025-06-07T12:10:00Z', 'endurance', 9_600, 'Long Saturday'),
  ride('2025-06-10T21:30:00Z', 'sprints', 3_300, 'Town sign sprints'),
  ride('2025-06-14T12:00:00Z', 'endurance', 11_400, 'Long Saturday'),
  ride('2025-06-17T21:30:00Z', 'intervals', 3_900, 'Tuesday intervals'),
  ride('2025-06-19T21:40:00Z', 'tempo', 4_800, 'Sweet spot', { indoor: true }),
  ride('2025-06-21T12:20:00Z', 'endurance', 10_200, 'Long Saturday'),
  ride('2025-06-24T21:30:00Z', 'intervals', 4_200, 'Hill repeats'),
  ride('2025-06-25T21:30:00Z', 'recovery', 2_700, 'Coffee ride'),
  ride('2025-06-26T21:40:00Z', 'tempo', 5_100, 'Sweet spot', { indoor: true }),
  ride('2025-06-28T12:00:00Z', 'endurance', 13_500, 'Long Saturday'),
  ride('2025-06-29T18:00:00Z', 'race', 5_400, 'Club race'),
]

function ride(startedAt: string, kind: string, seconds: number, name: string, more: object = {}): object {
  const path = `june${startedAt.slice(0, 10).replaceAll('-', '')}`
  return { path, name, started_at: startedAt, seconds, kind, zone: ZONE, ...more }
}
