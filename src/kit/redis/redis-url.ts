import { quoteShell } from '../text.ts'

export type RedisHost = Readonly<{ host: string; port: number }>

/** A parsed REDIS_URL. `hosts`: one server, the nodes of a Cluster, or the sentinels of the group named `group`. */
export type RedisAddress = NonNullable<ReturnType<typeof parseRedisUrl>>

const SHAPE = /^redis(s?)(-sentinel)?:\/\/([^@/?#]*@)?([^@/?#]*)(?:\/(\d*))?(?:\?([^@#]*))?(?:#([\w.:%-]*))?$/

/** Parses a Redis URL, which may name several hosts. Returns undefined if the string is not a Redis URL. */
export function parseRedisUrl(text: string) {
  const [, tls, sentinel, login = '', list = '', db, query, group] = SHAPE.exec(text) ?? []
  const urls = list.split(',').map((host) => `redis://${login}${host}`)
  const { prefix = '', family, ...parameters } = Object.fromEntries(new URLSearchParams(query))
  if (tls === undefined || (sentinel && !group) || !urls.every((url) => URL.canParse(url))) return undefined
  // No characters of a key pattern, and no braces, which would choose the node of a Cluster.
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
      /** prefix of every key */
      prefix,
      /** the login that only sentinels use */
      sentinelLogin: loginOf(parameters.sentinelUsername, parameters.sentinelPassword),
      /** login, database number and parameters for the client */
      options: {
        ...parameters,
        ...(family && { family: Number(family) }),
        ...loginOf(decodeURIComponent(username), decodeURIComponent(password)),
        ...(db && { db: Number(db) }),
      },
    }
  } catch {
    return undefined // a malformed % escape
  }
}

const loginOf = (username = '', password = '') => ({
  ...(username && { username }),
  ...(password && { password }),
})

/**
 * Formats the address of a URL, or of another server with the same login, for `redis-cli -u`. Secrets are left out, so redis-cli asks for
 * them. For a sentinel group the command asks the first sentinel for the primary. Undefined if the text is not a Redis URL.
 */
export function redisCliAddress(text: string, server?: RedisHost): string | undefined {
  const address = parseRedisUrl(text)
  if (!address) return undefined
  const { group, options, isTls } = address
  const path = options.db === undefined ? '' : `/${options.db}`
  const login = loginOptions(options)
  if (server || !group) return `${quoteShell(urlOf(address, server) + path)}${login}`
  const find = `${sentinelCli(address)} get-master-addr-by-name ${quoteShell(group)}`
  // A terminal also shows other lines. Only the answer counts.
  return `"redis${isTls ? 's' : ''}://$(${find} | tail -n 2 | paste -sd : -)${path}"${login}`
}

/** Formats the start of a command for the first sentinel, up to `sentinel`. */
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
