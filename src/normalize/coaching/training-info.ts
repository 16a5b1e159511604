import type { WireTrainingInfo } from '../../service/wire/training-info.ts'
import type { TrainingInfoRow } from '../../store/coaching/training-info.ts'

/** Normalizes training info (service document, "Training info") to its row; null where the service said nothing. */
export function normalizeTrainingInfo(wire: WireTrainingInfo): TrainingInfoRow {
  const { signature, tl, targetXSS: target, wotd } = wire
  return {
    status: wire.status ?? null,
    weightKg: wire.weight ?? null,
    ftp: signature?.ftp ?? null,
    ltp: signature?.ltp ?? null,
    hie: signature?.hie ?? null,
    pp: signature?.pp ?? null,
    tlLow: tl?.low ?? null,
    tlHigh: tl?.high ?? null,
    tlPeak: tl?.peak ?? null,
    tlTotal: tl?.total ?? null,
    targetLow: target?.low ?? null,
    targetHigh: target?.high ?? null,
    targetPeak: target?.peak ?? null,
    targetTotal: target?.total ?? null,
    source: wire.source ?? null,
    wotdType: wotd?.type ?? null,
    wotdName: wotd?.name ?? null,
    wotdWorkoutId: wotd?.workoutId ?? null,
    wotdDescription: wotd?.description ?? null,
    wotdDifficulty: wotd?.difficulty ?? null,
    wotdUrl: wotd?.url ?? null,
  }
}
