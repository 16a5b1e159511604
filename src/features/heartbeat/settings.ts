import { webAddress } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

/** `url`: the secret address of a monitor; undefined for none. */
export const heartbeatSettings = defineSettings({
  variables: {
    MUSETTE_HEARTBEAT_URL: webAddress('is not a web address; write for example https://hc-ping.com/UUID')
      .optional()
      .describe('the address of a monitor, called after each round with success or failure; unset: none'),
  },
  fromFile: ['MUSETTE_HEARTBEAT_URL'],
  hidden: ['MUSETTE_HEARTBEAT_URL'],
  read: (value) => ({ url: value.MUSETTE_HEARTBEAT_URL }),
})
