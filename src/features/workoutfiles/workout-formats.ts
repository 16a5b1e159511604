export const WORKOUT_FORMATS = ['zwo', 'erg', 'mrc', 'fit', 'json'] as const
export type WorkoutFileFormat = (typeof WORKOUT_FORMATS)[number]
