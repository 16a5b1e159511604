import { postgresUrl } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

/** `readerUrl` is the login by which assistants read; undefined: musette makes one. */
export const mcpSettings = defineSettings({
  variables: {
    MUSETTE_READER_URL: postgresUrl
      .optional()
      .describe('a login by which assistants read, from musette reader; unset: musette makes one'),
  },
  fromFile: ['MUSETTE_READER_URL'],
  read: (value) => ({ readerUrl: value.MUSETTE_READER_URL }),
})
