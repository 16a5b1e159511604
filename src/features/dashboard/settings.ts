import { webAddress } from '../../program/config/checks.ts'
import { defineSettings } from '../../program/config/define-settings.ts'

const EXAMPLE = 'write for example https://tiles.example.com/{z}/{x}/{y}.png'
const NOT_TILES = `is not the address of map tiles; ${EXAMPLE}`
/** A host that a content security policy can name. */
const NAMEABLE = /^[a-z0-9._-]+$/

const mapTiles = webAddress(NOT_TILES)
  .refine((text) => ['{z}', '{x}', '{y}'].every((part) => text.includes(part)), NOT_TILES)
  .refine(
    (text) => !/\{(?![zxysr]\})/.test(text),
    `has another placeholder than {z}, {x}, {y}, {s} (one of a, b and c) and {r} (nothing); ${EXAMPLE}`,
  )
  .refine((text) => {
    const address = text.replaceAll('{s}', 'a')
    return !URL.canParse(address) || NAMEABLE.test(new URL(address).hostname)
  }, `has a host that browsers fetch no pictures from; ${EXAMPLE}`)

export const dashboardSettings = defineSettings({
  variables: {
    MUSETTE_MAP_TILES: mapTiles
      .optional()
      .describe(
        'the address of map tiles behind routes and map of the dashboard; none are fetched without it',
      ),
  },
  fromFile: ['MUSETTE_MAP_TILES'],
  read: (value) => ({ mapTiles: value.MUSETTE_MAP_TILES }),
})
