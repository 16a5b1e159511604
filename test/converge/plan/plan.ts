/** What may happen to an activity at the service. `which` counts through all that were ever added; -1
 * is the one whose request is held. */
export type Change =
  | {
      do: 'add'
      daysAgo: number
      seconds: number
      delayMin: number
      zone: number
      text: string
      odd: boolean
    }
  | { do: 'rename'; which: number; text: string }
  | { do: 'describe'; which: number; text: string | null }
  | { do: 'scale'; which: number; by: number }
  | { do: 'extend'; which: number; value: number }
  | { do: 'move'; which: number; minutes: number }
  | { do: 'touch'; which: number }
  | { do: 'analyse'; which: number; minutes: number }
  | { do: 'delete'; which: number }
  | { do: 'revive'; which: number }
  | { do: 'recalculate' }

/** What may happen around the mirror. */
export type Trouble =
  | { do: 'break'; which: number; how: 'html' | 'cut' | '500' | 'no-success' | 'success-false' }
  | { do: 'fault'; on: FaultPlace; kind: FaultKind; times: number }
  | { do: 'cap'; cap: number | null }
  | { do: 'skew'; side: 'service' | 'own'; minutes: number }
  | { do: 'expire' }
  | { do: 'wait'; minutes: number }

export type FaultPlace = 'list' | 'detail' | 'token'
export const FAULT_KINDS = [
  'reset',
  '500',
  '503',
  '429',
  'cut',
  'cut-json',
  'html',
  'empty',
  'stall',
  'lost-answer',
  'hollow',
  'refused',
  'bad-entry',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** The line to the database breaks at a statement of the pass, and the process dies of it or lives on. */
export type Break = { at: number; how: 'unsent' | 'unanswered' | 'terminated'; dies: boolean }

/** One request of the pass, or its answer, is held while other things happen, another worker's pass among them. */
export type Hold = {
  on: 'list' | 'detail'
  at: number
  when: 'before' | 'after'
  during: Array<Change | Trouble | { do: 'other'; how: 'poll' | 'pass' | 'full' }>
}

export type Pass = { do: 'pass'; concurrency: number; full: boolean; break: Break | null; hold: Hold | null }

export type Step = Change | Trouble | Pass

export type Plan = { lagMin: number; steps: Step[] }
