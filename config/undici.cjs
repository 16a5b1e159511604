// What musette uses of undici; config/bundle.mjs takes it in place of undici's own index, which loads all of undici and by that Node's
// copy of it, too: 0.07 s of each start.
const Dispatcher = require('undici/lib/dispatcher/dispatcher')
Object.assign(Dispatcher.prototype, require('undici/lib/api'))

module.exports = {
  Agent: require('undici/lib/dispatcher/agent'),
  EnvHttpProxyAgent: require('undici/lib/dispatcher/env-http-proxy-agent'),
  Pool: require('undici/lib/dispatcher/pool'),
  ProxyAgent: require('undici/lib/dispatcher/proxy-agent'),
  // These are loaded at their first use.
  get fetch() {
    return require('undici/lib/web/fetch').fetch
  },
  get FormData() {
    return require('undici/lib/web/fetch/formdata').FormData
  },
  get Response() {
    return require('undici/lib/web/fetch/response').Response
  },
}
