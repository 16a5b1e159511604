import {
  type Config,
  knownSettings,
  readConfig as readConfigOf,
  readSettings as readSettingsOf,
  type Settings,
} from '../../src/config/config.ts'
import type { Environment } from '../../src/config/env-file.ts'
import { FEATURES } from '../../src/features/index.ts'
import { loadSettings } from '../../src/frame/define-feature.ts'

const features = await loadSettings(FEATURES)

/** Every setting of the program, with those of all features. */
export const KNOWN = knownSettings(features)

/** Reads the configuration of the program, with the settings of all features, as readConfig of src does. */
export const readConfig = (env?: Environment): Config => readConfigOf(features, env)

/** Reads settings with those of all features, as readSettings of src does. */
export const readSettings = (env?: Environment, envFile?: string): Settings =>
  readSettingsOf(features, env, envFile)
