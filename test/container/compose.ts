import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'

const list = z.array(z.string()).default([])
const values = z.record(z.string(), z.string()).default({})

/** What the tests look at of a service; the rest is handed on as it is. */
const service = z.looseObject({
  image: z.string().optional(),
  build: z.string().optional(),
  command: list,
  restart: z.string(),
  profiles: list,
  environment: values,
  secrets: list,
  ports: list,
  volumes: z
    .array(
      z.union([
        z
          .string()
          .transform((text) => ({ source: text.split(':')[0] ?? '', target: text.split(':')[1] ?? '' })),
        z.object({ source: z.string(), target: z.string() }),
      ]),
    )
    .default([]),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
})

const project = z.object({
  name: z.string(),
  services: z.record(z.string(), service),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
  volumes: z.record(z.string(), z.null()),
})

export type Service = z.output<typeof service>

/** Reads docker-compose.yml with its anchors put in, and checks that it has the shape these tests understand. */
export function readCompose(): z.output<typeof project> {
  const text = readFileSync(fileURLToPath(new URL('../../docker-compose.yml', import.meta.url)), 'utf8')
  return project.parse(parse(text, { merge: true }))
}
