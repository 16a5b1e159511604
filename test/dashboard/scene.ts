import { makeReleaseStack } from '../../src/kit/release-stack.ts'
import { openBrowser } from '../kit/chromium.ts'
import { distPath, type Running, startNode } from '../kit/processes.ts'
import { openRig, type Rig } from '../mirror/rig.ts'
import { type Line, openLine } from '../web/line.ts'
import { makeVisitor, type Visitor } from './visitor.ts'

export type Scene = Rig &
  Visitor & {
    /** the dashboard's address */
    url: string
    /** the daemon's own line to the database */
    line: Line
    daemon: Running
    /** starts the daemon again at the same address */
    restart(): Promise<void>
    /** the key of the newest activity that fits the rule */
    activityId(rule?: string): Promise<number>
  }

/**
 * Opens a sandbox, a database, a signed-in account, a daemon in a process of its own with its web server, and a browser in
 * front of it. Without other `roles` the daemon mirrors nothing; tests do, by syncAccount.
 */
export async function openScene(options: {
  activities: number
  roles?: string
  env?: Record<string, string>
}): Promise<Scene> {
  const release = makeReleaseStack()
  try {
    const rig = await openRig({ activities: options.activities })
    release.defer('rig', () => rig.close())
    const line = await openLine(rig.databaseUrl)
    release.defer('line', () => line.close())
    const start = async (http: string) => {
      const process = startNode([distPath('main.js'), 'start', '--roles', options.roles ?? 'web'], {
        env: {
          DATABASE_URL: line.url,
          MUSETTE_DATA_DIR: rig.dataDir,
          MUSETTE_HTTP: http,
          MUSETTE_REQUESTS_PER_MINUTE: '100000',
          ...options.env,
        },
      })
      const { url } = JSON.parse(await process.waitForLine(/"msg":"started"/))
      return { process, url: String(url) }
    }
    let { process: daemon, url } = await start('127.0.0.1:0')
    release.defer('daemon', () => daemon.kill('SIGKILL'))
    const browser = await openBrowser()
    release.defer('browser', () => browser.close())
    return {
      ...rig,
      ...makeVisitor(browser, url),
      url,
      line,
      get daemon() {
        return daemon
      },
      async restart() {
        daemon = (await start(new URL(url).host)).process
      },
      async activityId(rule = 'true') {
        const text = `select activity_id from training.activities where ${rule} order by started_at desc limit 1`
        return Number((await rig.rows(text))[0]?.activity_id)
      },
      close: () => release.release(),
    }
  } catch (error) {
    await release.release()
    throw error
  }
}
