import type { FastifyInstance } from 'fastify'
import { KEY } from '../../../../program/frame/downloads.ts'
import type { PagesApp } from '../page-frame.ts'
import { addView } from '../send-view.ts'
import { findMap } from './queries.ts'

/** Adds the tracks of an account. */
export function registerMap(scope: FastifyInstance, app: PagesApp): void {
  addView(scope, '/map', { query: { account: KEY } }, ({ account }) => findMap(app, account))
}
