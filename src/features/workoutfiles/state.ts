import { readForeign } from '../../kit/folders/folder-owner.ts'
import { readWritableFolder } from '../../program/frame/findings/check-folder.ts'
import type { FeatureState } from '../../program/frame/findings/facts.ts'
import { ok, warning } from '../../program/frame/findings/finding.ts'
import { workoutfilesSettings } from './settings.ts'

export const workoutfilesState: FeatureState = {
  check: 'workout folder',
  variables: ['MUSETTE_WORKOUT_DIR', 'MUSETTE_WORKOUTS'],
  rules: {},
  judge: async () => [],
  async diagnose({ config }) {
    const { dir, holdsSaved } = workoutfilesSettings.of(config)
    if (dir === undefined && holdsSaved)
      return [
        warning(
          'MUSETTE_WORKOUTS asks for every workout as a file, but MUSETTE_WORKOUT_DIR names no folder',
          'export MUSETTE_WORKOUT_DIR="$HOME/musette-workout"',
        ),
      ]
    if (dir === undefined)
      return [ok('MUSETTE_WORKOUT_DIR is not set: the workout of the day is only in SQL')]
    const loss = holdsSaved ? 'workouts are only in SQL' : 'the workout of the day is only in SQL'
    const folder = await readWritableFolder(dir, 'MUSETTE_WORKOUT_DIR', loss)
    if ('wrong' in folder) return [folder.wrong]
    return [ok(folder.stats ? dir : `${dir} does not exist yet; the first workout creates it`)]
  },
  folder: {
    variable: 'MUSETTE_WORKOUT_DIR',
    dirOf: (config) => workoutfilesSettings.of(config).dir,
    readForeign,
  },
}
