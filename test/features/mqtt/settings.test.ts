import { generateKeyPairSync } from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { mqttSettings } from '../../../src/features/mqtt/settings.ts'
import { complaintOf, readConfig } from '../../kit/config.ts'

describe('the MQTT configuration', () => {
  it('refuses certificates, keys and URLs that cannot work with an MQTT broker', () => {
    const made = generateKeyPairSync('ed25519', {
      privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    const plain = String(generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const url = 'mqtts://rider@broker.example.com'
    for (const [address, more, sentence] of [
      ['http://broker.example.com', {}, 'URL is not the address of an MQTT broker'],
      ['mqtt://rider:100%@h', {}, 'URL has one of the characters @ # %'],
      ['mqtt://', {}, 'URL names no host'],
      ['mqtt://h', { MUSETTE_MQTT_PASSWORD: 'hunter2' }, 'URL names no user for the password'],
      [url, { MUSETTE_MQTT_CA: made.publicKey }, 'CA is not a certificate'],
      [url, { MUSETTE_MQTT_KEY: made.privateKey }, 'KEY is not a private key in PEM without a passphrase'],
      [url, { MUSETTE_MQTT_KEY: plain }, 'KEY needs the other one too'],
    ] as const)
      expect(complaintOf({ MUSETTE_MQTT_URL: address, ...more })).toContain(`MUSETTE_MQTT_${sentence}`)
  })

  it('accepts certificates only for a broker with TLS', () => {
    const [ca = ''] = rootCertificates
    for (const protocol of ['mqtt', 'ws'])
      expect(complaintOf({ MUSETTE_MQTT_URL: `${protocol}://h`, MUSETTE_MQTT_CA: ca })).toContain(
        'MUSETTE_MQTT_CA has an effect only with TLS',
      )
    for (const protocol of ['mqtts', 'wss']) {
      const config = readConfig({ MUSETTE_MQTT_URL: `${protocol}://h`, MUSETTE_MQTT_CA: ca })
      expect(mqttSettings.of(config)).toMatchObject({ ca })
    }
  })
})
