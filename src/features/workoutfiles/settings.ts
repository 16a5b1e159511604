import { z } from 'zod'
import { folder } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

/** `dir` undefined: workouts are only in SQL; `holdsSaved`: the folder holds every workout of the own list too. */
export const workoutfilesSettings = defineSettings({
  variables: {
    MUSETTE_WORKOUT_DIR: folder.describe(
      'the folder for the files of the workout of the day; unset: only in SQL',
    ),
    MUSETTE_WORKOUTS: z
      .enum(['all'], 'is not all')
      .optional()
      .describe('all: that folder holds every workout of your own list too; unset: the workout of the day'),
  },
  read: (value) => ({ dir: value.MUSETTE_WORKOUT_DIR, holdsSaved: value.MUSETTE_WORKOUTS === 'all' }),
})
