import { createPrivateKey, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { isReadBy, url, yesNo } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

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

/** undefined: nothing is published by MQTT; certificates and key are PEM */
export const mqttSettings = defineSettings({
  variables: {
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
      .describe('the CA certificate that signed the broker certificate, PEM; unset: those that Node trusts'),
    MUSETTE_MQTT_CERT: certificate
      .optional()
      .describe('the client certificate for the broker, PEM; unset: none'),
    MUSETTE_MQTT_KEY: privateKey.optional().describe('the key of that certificate, PEM'),
    MUSETTE_MQTT_COMMANDS: yesNo(false).describe('give Home Assistant a button that polls now'),
  },
  fromFile: [
    'MUSETTE_MQTT_URL',
    'MUSETTE_MQTT_PASSWORD',
    'MUSETTE_MQTT_CA',
    'MUSETTE_MQTT_CERT',
    'MUSETTE_MQTT_KEY',
  ],
  // Certificates are not secret, but they fill a screen.
  hidden: ['MUSETTE_MQTT_PASSWORD', 'MUSETTE_MQTT_KEY', 'MUSETTE_MQTT_CA', 'MUSETTE_MQTT_CERT'],
  read(value, complain) {
    const { MUSETTE_MQTT_URL: url, MUSETTE_MQTT_PASSWORD: password } = value
    const { MUSETTE_MQTT_CA: ca, MUSETTE_MQTT_CERT: cert, MUSETTE_MQTT_KEY: key } = value
    if ((cert === undefined) !== (key === undefined))
      complain(
        cert === undefined ? 'MUSETTE_MQTT_KEY' : 'MUSETTE_MQTT_CERT',
        'needs the other one too; set certificate and key',
      )
    if (url === undefined) return undefined
    const { protocol, username } = new URL(url)
    if (!['mqtts:', 'wss:'].includes(protocol))
      for (const [name, text] of Object.entries({ CA: ca, CERT: cert, KEY: key }))
        if (text !== undefined)
          complain(
            `MUSETTE_MQTT_${name}`,
            'has an effect only with TLS; begin MUSETTE_MQTT_URL with mqtts: or wss:',
          )
    if (password !== undefined && username === '')
      complain('MUSETTE_MQTT_URL', 'names no user for the password; write for example mqtts://user@host')
    return { url, password, ca, cert, key, commands: value.MUSETTE_MQTT_COMMANDS }
  },
})

export type BrokerOptions = NonNullable<ReturnType<typeof mqttSettings.of>>
