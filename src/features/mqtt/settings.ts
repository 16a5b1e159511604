import { createPrivateKey, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { isReadBy, url, yesNo } from '../../program/config/checks.ts'
import { type Complain, defineSettings } from '../../program/config/define-settings.ts'

const certificate = z.string().refine(
  isReadBy((text) => new X509Certificate(text)),
  'is not a certificate in PEM; name its file by the variable with _FILE',
)

const privateKey = z
  .string()
  .refine(
    isReadBy(createPrivateKey),
    'is not a private key in PEM without a passphrase; name its file by the variable with _FILE',
  )

const VARIABLES = {
  MUSETTE_MQTT_URL: url(
    ['mqtt:', 'mqtts:', 'ws:', 'wss:'],
    'is not the address of an MQTT broker; write for example mqtts://user@broker.example.com:8883',
  )
    .refine(
      (text) => !URL.canParse(text) || new URL(text).hostname !== '',
      'names no host; write for example mqtts://user@broker.example.com:8883',
    )
    .optional()
    .describe('the MQTT broker of Home Assistant; unset: none'),
  MUSETTE_MQTT_PASSWORD: z.string().optional().describe('the password of the user in that address'),
  MUSETTE_MQTT_CA: certificate
    .optional()
    .describe('the certificate that signed the one of the broker, PEM; unset: those that Node trusts'),
  MUSETTE_MQTT_CERT: certificate
    .optional()
    .describe('the certificate by which the broker knows musette, PEM; unset: none'),
  MUSETTE_MQTT_KEY: privateKey.optional().describe('the key of that certificate, PEM'),
  MUSETTE_MQTT_COMMANDS: yesNo(false).describe('give Home Assistant a button that polls now'),
}

/** undefined: nothing is published by MQTT; certificates and key are PEM */
export const mqttSettings = defineSettings({
  variables: VARIABLES,
  fromFile: [
    'MUSETTE_MQTT_URL',
    'MUSETTE_MQTT_PASSWORD',
    'MUSETTE_MQTT_CA',
    'MUSETTE_MQTT_CERT',
    'MUSETTE_MQTT_KEY',
  ],
  // Certificates are not secret, but fill a screen.
  hidden: ['MUSETTE_MQTT_PASSWORD', 'MUSETTE_MQTT_KEY', 'MUSETTE_MQTT_CA', 'MUSETTE_MQTT_CERT'],
  read(value, complain) {
    checkBroker(value, complain)
    if (value.MUSETTE_MQTT_URL === undefined) return undefined
    return {
      url: value.MUSETTE_MQTT_URL,
      password: value.MUSETTE_MQTT_PASSWORD,
      ca: value.MUSETTE_MQTT_CA,
      cert: value.MUSETTE_MQTT_CERT,
      key: value.MUSETTE_MQTT_KEY,
      commands: value.MUSETTE_MQTT_COMMANDS,
    }
  },
})

export type BrokerOptions = NonNullable<ReturnType<typeof mqttSettings.of>>

/** Complains about the settings of the MQTT broker that do not go together. */
function checkBroker(values: z.output<z.ZodObject<typeof VARIABLES>>, complain: Complain): void {
  const { MUSETTE_MQTT_URL: url, MUSETTE_MQTT_CERT: cert, MUSETTE_MQTT_KEY: key } = values
  if ((cert === undefined) !== (key === undefined))
    complain(
      cert === undefined ? 'MUSETTE_MQTT_KEY' : 'MUSETTE_MQTT_CERT',
      'counts only with the other one; set certificate and key',
    )
  if (url === undefined) return
  const { protocol, username } = new URL(url)
  if (!['mqtts:', 'wss:'].includes(protocol))
    for (const variable of ['MUSETTE_MQTT_CA', 'MUSETTE_MQTT_CERT', 'MUSETTE_MQTT_KEY'] as const)
      if (values[variable] !== undefined)
        complain(variable, 'counts only with TLS; begin MUSETTE_MQTT_URL with mqtts: or wss:')
  if (values.MUSETTE_MQTT_PASSWORD !== undefined && username === '')
    complain('MUSETTE_MQTT_URL', 'names no user for the password; write for example mqtts://user@host')
}
