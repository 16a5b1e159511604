import { quoteShell } from '../text.ts'

export type RedisHost = Readonly<{ host: string; port: number }>

/** A parsed REDIS_URL. `hosts` are one server, nodes of a Cluster or, with `group`, the sentinels of a group of that name. */
export type RedisAddress = NonNullable<ReturnType<typeof parseRedisUrl>>

const SHAPE = /^redis(s?)(-sentinel)?:\/\/([^@/?#]*@)?([^@/?#]*)(?:\/(\d*))?(?:\?([^@#]*))?(?:#([\w.:%-]*))?$/

/** Parses a URL of Redis, which may name several hosts; undefined when it is none. */
export function parseRedisUrl(text: string) {
  const [, tls, sentinel, login = '', list = '', db, query, group] = SHAPE.exec(text) ?? []
  const urls = list.split(',').map((host) => `redis://${login}${host}`)
  const { prefix = '', family, ...parameters } = Object.fromEntries(new URLSearchParams(query))
  if (tls === undefined || (sentinel && !group) || !urls.every((url) => URL.canParse(url))) return undefined
  // No pattern's character, and no braces, which choose the node of a Cluster.
  if (!/^[\w.:-]*$/.test(prefix)) return undefined
  const hosts = urls.map((url) => {
    const { hostname, port } = new URL(url)
    const host = hostname.replace(/^\[|\]$/g, '') || '127.0.0.1'
    return { host, port: Number(port || (sentinel ? 26_379 : 6_379)) }
  })
  try {
    const { username, password } = new URL(urls[0] ?? '')
    return {
      hosts,
      group: sentinel && decodeURIComponent(group ?? ''),
      isTls: tls !== '',
      /** begins every key */
      prefix,
      /** the login for the sentinels alone */
      sentinelLogin: loginOf(parameters.sentinelUsername, parameters.sentinelPassword),
      /** the login, the number of the database and the parameters, as the client takes them */
      options: {
        ...parameters,
        ...(family && { family: Number(family) }),
        ...loginOf(decodeURIComponent(username), decodeURIComponent(password)),
        ...(db && { db: Number(db) }),
      },
    }
  } catch {
    return undefined // a % that encodes nothing
  }
}

const loginOf = (username = '', password = '') => ({
  ...(username && { username }),
  ...(password && { password }),
})

/**
 * Writes the address of a URL, or of another server with its login, for `redis-cli -u`, without its secrets, for which redis-cli asks.
 * That of a sentinel group asks its first sentinel for the primary.
 */
export function redisCliAddress(text: string, server?: RedisHost): string | undefined {
  const address = parseRedisUrl(text)
  if (!address) return undefined
  const { group, options, isTls } = address
  const path = options.db === undefined ? '' : `/${options.db}`
  const login = loginOptions(options)
  if (server || !group) return `${quoteShell(urlOf(address, server) + path)}${login}`
  const find = `${sentinelCli(address)} get-master-addr-by-name ${quoteShell(group)}`
  // Of the lines of a terminal only the answer counts.
  return `"redis${isTls ? 's' : ''}://$(${find} | tail -n 2 | paste -sd : -)${path}"${login}`
}

/** Writes a command for the first sentinel, as far as its last words. */
export function sentinelCli(address: RedisAddress): string {
  return `redis-cli -u ${quoteShell(urlOf(address))}${loginOptions(address.sentinelLogin)} sentinel`
}

function loginOptions({ username, password }: { username?: string; password?: string }): string {
  const user = username === undefined ? '' : ` --user ${quoteShell(username)}`
  return `${user}${password === undefined ? '' : ' --askpass'}`
}

function urlOf({ isTls, hosts: [first] }: RedisAddress, server = first): string {
  const { host = '', port } = server ?? {}
  return `redis${isTls ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${port}`
}
