import type { TestService } from '../world/service.ts'

/** An activity as the service has it, with the answer it gives to whoever asks for its samples. */
export type Truth = {
  path: string
  listed: boolean
  has_samples: boolean
  started_at: string
  start_date: { date: string; timezone: string }
  activity_type: string
  detail: {
    name: string
    description: string | null
    summary: Record<string, unknown>
    session_data: Array<Record<string, unknown>>
  }
}

/** Fetches everything that is true of the activities of those paths. */
export async function fetchTruths(service: TestService, paths: readonly string[]): Promise<Truth[]> {
  const truths: Truth[] = []
  for (const path of paths) truths.push((await service.steer('GET', `activities/${path}`)) as Truth)
  return truths
}
