import { webAddress } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

/** `url` is the secret address of a monitor; undefined: none. */
export const heartbeatSettings = defineSettings({
  variables: {
    MUSETTE_HEARTBEAT_URL: webAddress('is not a web address; write for example https://hc-ping.com/UUID')
      .optional()
      .describe('the address that hears after each round whether all is in order; unset: none'),
  },
  fromFile: ['MUSETTE_HEARTBEAT_URL'],
  hidden: ['MUSETTE_HEARTBEAT_URL'],
  read: (value) => ({ url: value.MUSETTE_HEARTBEAT_URL }),
})
