/**
 * What a feature hands the frame: one value, which stands in `feature.ts` of its folder and in the list of `features/index.ts`. Each start of
 * the program loads it, so that it holds names, settings and verbs, and loads its code when that runs.
 */
export type Feature = Readonly<{
  /** the name of its folder */
  name: string
}>

/** Makes a feature. */
export function defineFeature(feature: Feature): Feature {
  return feature
}
