import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { queryOnce } from '../../kit/postgres.ts'

/** Reads everything in the database as text: what analysts read, the queue, and the sealed logins. */
export async function readDatabase(url: string): Promise<string> {
  const tables = await queryOnce(
    url,
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('training', 'musette', 'bullmq') and c.relkind in ('r', 'v', 'm', 'p')`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await queryOnce(url, `select t::text as row from ${name} t limit 20000`)
    texts.push(`${name}: ${rows.map(({ row }) => row).join('\n')}`)
  }
  return texts.join('\n')
}

/** Reads every key of a Redis as text. */
export async function readRedis(url: string): Promise<string> {
  const redis = new Redis(url)
  try {
    const texts: string[] = []
    for (const key of await redis.keys('*'))
      texts.push(`${key}: ${JSON.stringify(await readKey(redis, key))}`)
    return texts.join('\n')
  } finally {
    redis.disconnect()
  }
}

async function readKey(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'zset':
      return redis.zrange(key, '0', '-1')
    case 'set':
      return redis.smembers(key)
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return redis.get(key)
  }
}

/** Reads every file below a folder, as text by bytes; of the key's own files only the names. */
export async function readFiles(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const texts: string[] = []
  for (const entry of entries.filter((one) => one.isFile())) {
    const isKey = entry.name.startsWith('secret.key')
    const text = isKey ? '' : await readFile(join(entry.parentPath, entry.name), 'latin1')
    texts.push(`${entry.name}: ${text}`)
  }
  return texts.join('\n')
}
