import { defineFeature } from '../../program/frame/define-feature.ts'
import { workoutExportVerb, workoutListVerb } from './verbs.ts'
import { WORKOUT_FORMATS } from './workout-formats.ts'

export const workoutfiles = defineFeature({
  name: 'workoutfiles',
  verbs: { after: 'rebuild', all: [workoutListVerb, workoutExportVerb] },
  settingsOf: {
    start: ['MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'],
    sync: ['MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'],
  },
  downloads: { workout: WORKOUT_FORMATS },
  routes: async (server, { app }) => (await import('./routes.ts')).registerWorkouts(server, app),
  settings: async () => (await import('./settings.ts')).workoutfilesSettings,
  state: async () => (await import('./state.ts')).workoutfilesState,
  async openOnWorkouts(app) {
    const { workoutfilesSettings } = await import('./settings.ts')
    const { dir, holdsSaved } = workoutfilesSettings.of(app.config)
    if (dir === undefined) return undefined
    const { makeFolderUpdates } = await import('./update-folder.ts')
    return makeFolderUpdates(app, { dir, holdsSaved })
  },
})
