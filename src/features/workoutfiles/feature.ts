import { defineFeature } from '../../frame/define-feature.ts'

export const workoutfiles = defineFeature({
  name: 'workoutfiles',
})
