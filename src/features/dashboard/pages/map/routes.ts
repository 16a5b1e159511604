import type { FastifyInstance } from 'fastify'
import { KEY } from '../../../../program/frame/downloads.ts'
import type { PagesApp } from '../page-frame.ts'
import { addView } from '../send-view.ts'
import { findMap, findNear } from './queries.ts'

const SIDE = { type: 'integer', default: 0 } as const
const BOX = { west: SIDE, south: SIDE, east: SIDE, north: SIDE }

/** Adds the routes of an account's tracks: the outlines of all tracks, and the finer tracks in a box. */
export function registerMap(scope: FastifyInstance, app: PagesApp): void {
  addView(scope, '/map', { query: { account: KEY } }, (chosen) => findMap(app, chosen))
  addView(scope, '/map/near', { query: { account: KEY, ...BOX } }, (chosen) => findNear(app, chosen))
}
