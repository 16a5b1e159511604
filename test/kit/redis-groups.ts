import { Redis } from 'ioredis'
import { makeReleaseStack } from '../../src/kit/release-stack.ts'
import { eventually } from './eventually.ts'
import { findFreePort } from './listen.ts'
import { openOwnRedis } from './redis.ts'
import type { RedisServer } from './redis-server.ts'

export type RedisGroup = Awaited<ReturnType<typeof openSentinels>>

/** How long a primary must be silent before a replica replaces it, ms. */
const DOWN_MS = 1_000
const GROUP = 'club'

/**
 * Starts a primary, its replica and three sentinels, and waits until the sentinels know each other and the replica. All but one sentinel
 * have passwords.
 */
export async function openSentinels() {
  const release = makeReleaseStack()
  const open = openWith(release)
  const login = ['requirepass hunter2', 'masterauth hunter2']
  const primary = await open(login)
  const replica = await open([...login, `replicaof 127.0.0.1 ${primary.port}`])
  const sentinels = await Promise.all(
    [1, 2, 3].map((number) =>
      open([
        `sentinel monitor ${GROUP} 127.0.0.1 ${primary.port} 2`,
        `sentinel auth-pass ${GROUP} hunter2`,
        `sentinel down-after-milliseconds ${GROUP} ${DOWN_MS}`,
        `sentinel failover-timeout ${GROUP} 4000`,
        'sentinel sentinel-pass hunter3',
        ...(number < 3 ? ['requirepass hunter3'] : []),
      ]),
    ),
  )
  const clients = sentinels.map(
    ({ port }, index) => new Redis({ port, ...(index < 2 && { password: 'hunter3' }) }),
  )
  for (const client of clients) {
    const facts = async () => String(await client.call('SENTINEL', 'MASTER', GROUP))
    await eventually(async () => /num-slaves,1,num-other-sentinels,2/.test(await facts()))
    client.disconnect()
  }
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`)
  return {
    url: `redis-sentinel://:hunter2@${hosts}/1?sentinelPassword=hunter3#${GROUP}`,
    /** through the sentinel without a password */
    openUrl: `redis-sentinel://:hunter2@${hosts[2]}/1#${GROUP}`,
    password: 'hunter2',
    primary,
    servers: [primary, replica],
    sentinels,
    close: () => release.release(),
  }
}

/** Starts a Cluster of three primaries, and a replica of the primary that has the slot of a key. */
export async function openCluster(key: string): Promise<RedisGroup> {
  const release = makeReleaseStack()
  const open = openWith(release)
  const servers = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const port = await findFreePort()
      const timing = ['cluster-node-timeout 1000', 'cluster-replica-validity-factor 0']
      return { ...(await open(['cluster-enabled yes', `cluster-port ${port}`, ...timing])), bus: port }
    }),
  )
  const clients = servers.map(({ port }) => new Redis({ port }))
  const [first, ...others] = clients
  if (!first) throw new Error('no node')
  const slot = await first.cluster('KEYSLOT', key)
  const owner = Math.floor(slot / 5_462)
  for (const [index, client] of clients.entries()) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1)
    const end = Math.min(16_383, (index + 1) * 5_462 - 1)
    if (index < 3) await client.call('CLUSTER', 'ADDSLOTSRANGE', index * 5_462, end)
  }
  for (const client of others)
    await client.call('CLUSTER', 'MEET', '127.0.0.1', servers[0]?.port ?? 0, servers[0]?.bus ?? 0)
  const ownerId = String(await clients[owner]?.call('CLUSTER', 'MYID'))
  const replicate = async () => clients[3]?.call('CLUSTER', 'REPLICATE', ownerId)
  await eventually(replicate, { what: 'the replica' })
  for (const client of clients) {
    const isOk = async () => String(await client.cluster('INFO')).includes('cluster_state:ok')
    await eventually(isOk, { what: 'a complete Cluster' })
  }
  const isSynced = async () => /master_link_status:up/.test((await clients[3]?.info('replication')) ?? '')
  await eventually(isSynced, { what: 'a replica with the data' })
  for (const client of clients) client.disconnect()
  const url = `redis://127.0.0.1:${servers[(owner + 1) % 3]?.port}`
  return {
    url,
    openUrl: url,
    password: '',
    primary: servers[owner] as RedisServer,
    servers,
    sentinels: [],
    close: () => release.release(),
  }
}

function openWith(release: ReturnType<typeof makeReleaseStack>) {
  return async (settings: readonly string[]) => {
    const server = await openOwnRedis(settings)
    release.defer('server', () => server.close())
    return server
  }
}
