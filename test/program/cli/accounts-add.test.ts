import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { openForAll } from '../../kit/open-for.ts'
import { queryOnce } from '../../kit/postgres.ts'
import { openCliRig } from './rig.ts'

/** Wrong lines of a file, and the beginning of the message about each. */
const WRONG: ReadonlyArray<[row: string, says: string]> = [
  ['third', 'line 2 is not: account, user name, password'],
  ['a/b third hunter2', 'line 2: an account name is letters'],
  ['third third', 'line 2 has no password; write it, or give --password-command'],
  ['first third hunter2', 'line 2 has the account or user name of line 1'],
  ['third rider hunter2', 'line 2 has the account or user name of line 1'],
]

describe('accounts add', () => {
  const rig = openForAll(() => openCliRig({ activities: 1 }))
  let file: string
  beforeAll(() => {
    file = join(rig.dataDir, 'riders.txt')
  })

  const add = async (rows: string, ...more: readonly string[]) => {
    await writeFile(file, rows, { mode: 0o600 })
    const result = await rig.musette(['accounts', 'add', file, ...more])
    expect(result.stdout + result.stderr).not.toContain('hunter2')
    return result
  }
  const tried = async () => {
    const { tokens } = await rig.steer<{ tokens: Record<'password' | 'rejected', number> }>('GET', 'counts')
    return tokens.password + tokens.rejected
  }
  const findNames = async () =>
    (await queryOnce(rig.databaseUrl, 'select name from training.accounts order by 1')).map(
      ({ name }) => name,
    )

  it.each(WRONG)('signs nobody in if a line is wrong: %s', async (row, says) => {
    const { code, stderr } = await add(`first rider hunter2\n${row}\n`)
    expect({ code }).toEqual({ code: 2 })
    expect(stderr).toContain(says)
    expect(await findNames()).toEqual([])
  })

  it('refuses passwords in a file that others can read, with the command that fixes it', async () => {
    await add('first rider hunter2\n')
    await chmod(file, 0o644)
    const { code, stderr } = await rig.musette(['accounts', 'add', file])
    expect(code).toBe(2)
    expect(stderr).toContain(`run: chmod 600 ${file}`)
    await chmod(file, 0o600)
    expect((await rig.musette(['accounts', 'add', file])).code).toBe(5)
    expect(await findNames()).toEqual([])
  })

  it('signs in every rider it can, tries each line once, and on a rerun tries only failed lines', async () => {
    const before = await tried()
    const failed = await add('# the club\n\nfirst rider rider\n2nd\tsecond\thunter2 with a space\n')
    expect(failed.code).toBe(5)
    expect(failed.stdout).toBe(
      '1 of 2: account "first" is signed in\n1 signed in, 0 were already, 1 line failed\n',
    )
    expect(failed.stderr).toMatch(/line 4: account "2nd": .*\n.*run: musette accounts add /)
    expect((await tried()) - before).toBe(2)
    const { code, stdout } = await add('first rider hunter2\n2nd second second\n', '--json')
    expect(code).toBe(0)
    expect(
      stdout
        .trim()
        .split('\n')
        .map((row) => JSON.parse(row)),
    ).toEqual([
      { line: 1, account: 'first', state: 'present', error: null },
      { line: 2, account: '2nd', state: 'signed_in', error: null },
    ])
    expect((await tried()) - before).toBe(3)
    expect(await findNames()).toEqual(['2nd', 'first'])
  })

  it('reads files written by editors of other systems', async () => {
    for (const name of ['first', '2nd']) await rig.musette(['logout', name])
    const odd = await add('\uFEFF# the club\r\n  first rider rider \r\n\r\n2nd\tsecond\tsecond\t\r\n')
    expect(odd).toMatchObject({ code: 0, stdout: expect.stringContaining('2 signed in, 0 were already') })
    await writeFile(file, Buffer.from('fifth fünf fünf\n', 'latin1'))
    const { code, stderr } = await rig.musette(['accounts', 'add', file])
    expect({ code }).toEqual({ code: 2 })
    expect(stderr).toContain('riders.txt is not UTF-8; nobody was signed in')
    expect((await rig.musette(['accounts', 'add', rig.dataDir])).code).toBe(2)
  })

  it('reads passwords from a command, whose failure fails only its line', async () => {
    for (const name of ['first', '2nd']) await rig.musette(['logout', name])
    const command = `[ {account} = first ] && echo {username} || { echo hunter2; exit 7; }`
    const { code, stderr } = await add('first rider\n2nd second\n', '--password-command', command)
    expect(code).toBe(5)
    expect(stderr).toContain('line 2: account "2nd": the password command exited with code 7')
    const signedIn = 'select name from training.accounts where not needs_login'
    expect(await queryOnce(rig.databaseUrl, signedIn)).toEqual([{ name: 'first' }])
  })

  it('stops between two lines with complete accounts, and continues on a rerun', async () => {
    for (const name of ['first', '2nd']) await rig.musette(['logout', name])
    const stop = 'mkdir stopped 2>/dev/null && kill -INT $PPID && exec sleep 60'
    const command = `[ {account} = 2nd ] && ${stop}; echo {username}`
    const again = () => add('first rider\n2nd second\n', '--password-command', command)
    const logins = 'select name, needs_login from training.accounts order by name'
    expect((await again()).code).toBe(130)
    expect(await queryOnce(rig.databaseUrl, logins)).toEqual([
      { name: '2nd', needs_login: true },
      { name: 'first', needs_login: false },
    ])
    const { code, stdout } = await again()
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: '2 of 2: account "2nd" is signed in\n1 signed in, 1 were already, 0 lines failed\n',
    })
  })
})
