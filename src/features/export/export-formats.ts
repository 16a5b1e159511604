export const TRACK_FORMATS = ['gpx', 'tcx', 'geojson'] as const
export type TrackFormat = (typeof TRACK_FORMATS)[number]

export function isTrackFormat(one: string): one is TrackFormat {
  return (TRACK_FORMATS as readonly string[]).includes(one)
}

export const EXPORT_FORMATS = ['csv', 'json', 'parquet', 'fit', ...TRACK_FORMATS] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** The optional content of an export: the FIT files, the service's responses, or tracks. A folder of tracks has no tables. */
export const ALSO = ['originals', 'raw', ...TRACK_FORMATS] as const
export type Also = (typeof ALSO)[number]

/** The formats that contain only positions, so they cannot represent an activity without positions. */
export const OF_POSITIONS: ReadonlySet<string> = new Set(['gpx', 'geojson'])
