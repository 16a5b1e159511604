import { defineFeature } from '../../frame/define-feature.ts'
import { workoutExportVerb, workoutListVerb } from './verbs.ts'

export const workoutfiles = defineFeature({
  name: 'workoutfiles',
  verbs: { after: 'rebuild', all: [workoutListVerb, workoutExportVerb] },
  settingsOf: {
    start: ['MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'],
    sync: ['MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'],
  },
  state: async () => (await import('./state.ts')).workoutfilesState,
})
