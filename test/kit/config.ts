import { FEATURES } from '../../src/features/index.ts'
import { ConfigError } from '../../src/kit/errors.ts'
import {
  type Config,
  checked,
  readSettings as readSettingsOf,
  type Settings,
} from '../../src/program/config/config.ts'
import type { SettingsGroup } from '../../src/program/config/define-settings.ts'
import type { Environment } from '../../src/program/config/env-file.ts'
import { loadSettings } from '../../src/program/frame/define-feature.ts'

const features = await loadSettings(FEATURES)

/** Every setting of the program, including those of all features. */
export const KNOWN = readSettingsOf(features, {}).known

/** Reads the configuration of the program with the settings of all features, as a verb does. */
export const readConfig = (env?: Environment): Config => checked(readSettingsOf(features, env)).config

/** Reads the settings with those of all features, as readSettings in src does. */
export const readSettings = (env?: Environment, envFile?: string): Settings =>
  readSettingsOf(features, env, envFile)

/** Returns the error message for a configuration that is refused. */
export function complaintOf(env: Record<string, string>): string {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('the configuration was taken')
}

/** Returns a copy of a configuration with another value for a group of settings. */
export const withSettings = <Value>(config: Config, group: SettingsGroup<Value>, value: Value): Config => ({
  ...config,
  features: new Map(config.features).set(group, value),
})
