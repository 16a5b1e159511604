import { expect, it, onTestFinished } from 'vitest'
import { collectGarbage } from '../../../src/core/service/transport.ts'
import { signInWithPassword, signOut } from '../../../src/program/app/sign-in.ts'
import { openDaemon } from '../../../src/program/daemon/daemon.ts'
import { openRig } from '../../core/mirror/rig.ts'
import { eventually } from '../../kit/eventually.ts'
import { END_CONNECTIONS } from '../../kit/postgres.ts'

it('an account that signs in is mirrored by the daemon at once', async () => {
  const rig = await openRig({ activities: 2, env: { MUSETTE_HTTP: 'off' } })
  onTestFinished(() => rig.close())
  const signal = new AbortController().signal
  const daemon = await openDaemon(rig.app.config, rig.log.log, { roles: ['scheduler', 'worker'], signal })
  onTestFinished(() => daemon.close())
  const login = { name: 'second', username: 'second', password: 'second', keepPassword: false }
  const signIn = () => signInWithPassword(rig.app, login)
  const polls = async () => {
    const rows = await rig.rows(
      `select count(*)::int as n from training.sync_runs join training.accounts using (account_id)
       where name = 'second' and resource = 'activities' and outcome = 'done' and kind <> 'reconcile'`,
    )
    return Number(rows[0]?.n)
  }
  await signIn()
  // Without the watch this takes up to a minute.
  await eventually(async () => (await polls()) === 1)
  await signOut(rig.app, 'second')
  await signIn()
  await eventually(async () => (await polls()) === 2)
  // What a wait holds on to by a weak reference only is gone from now on.
  const collecting = setInterval(collectGarbage, 250)
  onTestFinished(() => clearInterval(collecting))
  await rig.rows(END_CONNECTIONS)
  await signOut(rig.app, 'second')
  await signIn()
  await eventually(async () => (await polls()) === 3)
  expect(rig.log.lines.filter(({ level }) => Number(level) >= 50)).toEqual([])
})
