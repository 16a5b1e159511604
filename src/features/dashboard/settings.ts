import { z } from 'zod'
import { defineSettings } from '../../program/config/define-settings.ts'

const mapTiles = z
  .string()
  .refine(
    (text) =>
      URL.canParse(text) &&
      /^https?:$/.test(new URL(text).protocol) &&
      ['{z}', '{x}', '{y}'].every((part) => text.includes(part)),
    'is not the address of map tiles; write for example https://tiles.example.com/{z}/{x}/{y}.png',
  )

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
