import type { Route } from '../http/router.ts'
import { answerAuthorize, answerAuthorizeForm } from '../oauth/authorize.ts'
import { answerToken } from '../oauth/token.ts'
import { answerActivity, answerActivityList } from './activities.ts'
import { withRider } from './bearer.ts'
import { answerTrainingInfo, answerWorkoutDownload } from './training-info.ts'
import { answerUpload } from './upload.ts'
import { answerDefaultWorkouts, answerOwnWorkouts, answerWorkout } from './workouts.ts'

/** The endpoints of the service document, in its order; the second line of 2 takes the forms of its pages. */
export const serviceRoutes: readonly Route[] = [
  { method: 'POST', pattern: '/oauth/token', about: '1: the three grants', answer: answerToken },
  {
    method: 'GET',
    pattern: '/oauth/authorize',
    about: '2: login and consent pages',
    answer: answerAuthorize,
  },
  {
    method: 'POST',
    pattern: '/oauth/authorize',
    about: '2: forms of those pages',
    answer: answerAuthorizeForm,
  },
  {
    method: 'GET',
    pattern: '/oauth/training_info',
    about: '3: fitness, loads, workout of the day',
    answer: withRider(answerTrainingInfo),
  },
  {
    method: 'GET',
    pattern: '/oauth/workout-download/:file',
    about: '4: a workout as .erg or .zwo',
    answer: withRider(answerWorkoutDownload),
  },
  {
    method: 'GET',
    pattern: '/oauth/workout',
    about: '5: default workouts, no token',
    answer: answerDefaultWorkouts,
  },
  {
    method: 'GET',
    pattern: '/oauth/workouts',
    about: '6: own workouts',
    answer: withRider(answerOwnWorkouts),
  },
  {
    method: 'GET',
    pattern: '/oauth/workout/:path',
    about: '7: a workout in watts',
    answer: withRider(answerWorkout),
  },
  {
    method: 'GET',
    pattern: '/oauth/activity/:path',
    about: '8: one activity',
    answer: withRider(answerActivity),
  },
  {
    method: 'GET',
    pattern: '/oauth/activity',
    about: '9: list by start',
    answer: withRider(answerActivityList),
  },
  { method: 'POST', pattern: '/oauth/upload', about: '10: a FIT file', answer: withRider(answerUpload) },
]
