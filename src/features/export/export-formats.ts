export const TRACK_FORMATS = ['gpx', 'tcx', 'geojson'] as const
export type TrackFormat = (typeof TRACK_FORMATS)[number]

/** Tells whether a format, or content of an export, is a track. */
export function isTrackFormat(one: string): one is TrackFormat {
  return (TRACK_FORMATS as readonly string[]).includes(one)
}

export const EXPORT_FORMATS = ['csv', 'json', 'parquet', 'fit', ...TRACK_FORMATS] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** The optional content of an export: the FIT files, and the answers of the service; a folder of tracks has nothing else. */
export const ALSO = ['originals', 'raw', ...TRACK_FORMATS] as const
export type Also = (typeof ALSO)[number]

/** The formats of positions, for which an activity without any has nothing. */
export const OF_POSITIONS: ReadonlySet<string> = new Set(['gpx', 'geojson'])
