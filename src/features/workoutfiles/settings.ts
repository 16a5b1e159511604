import { z } from 'zod'
import { folder } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

/** If `dir` is undefined, workouts are only in SQL. `holdsSaved`: the folder also has the rider's own workouts. */
export const workoutfilesSettings = defineSettings({
  variables: {
    MUSETTE_WORKOUT_DIR: folder.describe(
      'the folder for the files of the workout of the day; unset: it is only in SQL',
    ),
    MUSETTE_WORKOUTS: z
      .enum(['all'], 'is not all')
      .optional()
      .describe(
        'all: that folder also holds every workout of your own list; unset: only the workout of the day',
      ),
  },
  read: (value) => ({ dir: value.MUSETTE_WORKOUT_DIR, holdsSaved: value.MUSETTE_WORKOUTS === 'all' }),
})
