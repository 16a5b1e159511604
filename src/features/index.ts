import type { Feature } from '../program/frame/define-feature.ts'
import { backup } from './backup/feature.ts'
import { changes } from './changes/feature.ts'
import { dashboard } from './dashboard/feature.ts'
import { demo } from './demo/feature.ts'
import { exporting } from './export/feature.ts'
import { heartbeat } from './heartbeat/feature.ts'
import { mcp } from './mcp/feature.ts'
import { metrics } from './metrics/feature.ts'
import { mqtt } from './mqtt/feature.ts'
import { reader } from './reader/feature.ts'
import { sql } from './sql/feature.ts'
import { webhooks } from './webhooks/feature.ts'
import { workoutfiles } from './workoutfiles/feature.ts'

/** Every feature. To add or remove one, change its folder and this list. */
export const FEATURES: readonly Feature[] = [
  backup,
  exporting,
  workoutfiles,
  webhooks,
  heartbeat,
  mqtt,
  metrics,
  dashboard,
  sql,
  mcp,
  reader,
  changes,
  demo,
]
