import { webAddress } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

const EXAMPLE = 'for example https://tiles.example.com/{z}/{x}/{y}.png'
const NOT_TILES = `is not a URL of map tiles; ${EXAMPLE}`
/** Host names that a content security policy can contain. */
const NAMEABLE = /^[a-z0-9._-]+$/

const mapTiles = webAddress(NOT_TILES)
  .refine((text) => ['{z}', '{x}', '{y}'].every((part) => text.includes(part)), NOT_TILES)
  .refine(
    (text) => !/\{(?![zxysr]\})/.test(text),
    `may contain only the placeholders {z}, {x}, {y}, {s} (a, b or c) and {r} (replaced by nothing); ${EXAMPLE}`,
  )
  .refine((text) => {
    const address = text.replaceAll('{s}', 'a')
    return !URL.canParse(address) || NAMEABLE.test(new URL(address).hostname)
  }, `has a host name that browsers block; ${EXAMPLE}`)

export const dashboardSettings = defineSettings({
  variables: {
    MUSETTE_MAP_TILES: mapTiles
      .optional()
      .describe('the URL of the map tiles behind routes and the map; default: no tiles'),
  },
  fromFile: ['MUSETTE_MAP_TILES'],
  read: (value) => ({ mapTiles: value.MUSETTE_MAP_TILES }),
})
