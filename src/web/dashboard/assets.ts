import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** The compiled scripts, beside this module in dist/. */
const OWN = fileURLToPath(new URL('./browser', import.meta.url))

/** Serves scripts, styles and the chart library from this machine, each asked for again only when it has changed. */
export async function registerAssets(server: FastifyInstance): Promise<void> {
  const charts = dirname(createRequire(import.meta.url).resolve('uplot/dist/uPlot.esm.js'))
  await serve(server, { root: OWN, prefix: '/assets/', served: /\.(js|css|svg)$/ })
  await serve(server, { root: charts, prefix: '/assets/uplot/', served: /^\/uPlot\.(esm\.js|min\.css)$/ })
}

async function serve(server: FastifyInstance, folder: { root: string; prefix: string; served: RegExp }) {
  await server.register(fastifyStatic, {
    root: folder.root,
    prefix: folder.prefix,
    decorateReply: false,
    index: false,
    cacheControl: false,
    allowedPath: (path) => folder.served.test(path),
    setHeaders: (reply) => void reply.header('cache-control', 'no-cache'),
  })
}
