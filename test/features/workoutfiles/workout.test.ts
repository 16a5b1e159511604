import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliRig, openCliRig } from '../../program/cli/rig.ts'
import { readCourse, readFitWorkout, readZwo } from './readers.ts'

describe('musette workout', () => {
  let rig: CliRig
  beforeAll(async () => {
    rig = await openCliRig({ activities: 1 })
  })
  afterAll(() => rig.close())

  it('lists mirrored workouts, or names the command that fetches them', async () => {
    expect((await rig.musette(['workout', 'list'])).stderr).toContain('musette login')
    await rig.signIn()
    expect((await rig.musette(['workout', 'list'])).stdout).toContain('musette sync')
    const nothing = await rig.musette(['workout', 'export', '--all', '--format', 'zwo', '--to', 'none'])
    expect(nothing).toMatchObject({ code: 0, stderr: expect.stringContaining('musette sync') })
    await rig.musette(['sync'])
    const { stdout, code } = await rig.musette(['workout', 'list'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/Lunch Tempo +own0tempo0000001 +own +0:53:00/)
    expect(stdout).toMatch(/Easy Spin +df0easyspin00001 +default +0:45:00/)
    const listed = JSON.parse((await rig.musette(['workout', 'list', '--json'])).stdout)
    expect(listed).toHaveLength(7)
    expect(listed[0]).toMatchObject({ list: 'own', ftp: expect.any(Number), problem: null })
  })

  it('writes one workout by name or path, in every format', async () => {
    const write = async (format: string, name = 'lunch tempo') =>
      (await rig.musette(['workout', 'export', name, '--format', format])).stdout
    const erg = await write('erg')
    expect(await write('erg', 'own0tempo0000001')).toBe(erg)
    const { ftp, steps } = JSON.parse(await write('json'))
    expect(steps).toHaveLength(6)
    for (const { watts } of [
      readCourse(erg),
      readCourse(await write('mrc')),
      readZwo(await write('zwo'), ftp),
    ])
      expect(watts).toHaveLength(3_180)
    const folder = join(rig.dataDir, 'one')
    await rig.musette(['workout', 'export', 'Easy Spin', '--format', 'fit', '--to', folder])
    expect(readFitWorkout(await readFile(join(folder, 'Easy Spin.fit'))).watts).toHaveLength(2_700)
  })

  it('writes the own list into a folder, then only changes, and keeps foreign files', async () => {
    const folder = join(rig.dataDir, 'all')
    const all = (format: string) =>
      rig.musette(['workout', 'export', '--all', '--format', format, '--to', folder])
    await mkdir(folder)
    await writeFile(join(folder, 'Lunch Tempo.mrc'), 'mine')
    expect((await all('mrc')).stderr).toContain('3 of 3 workouts written as .mrc')
    expect((await all('mrc')).stderr).toContain('0 of 3 workouts written as .mrc, 3 unchanged')
    await all('fit')
    const files = (await readdir(folder)).filter((name) => !name.startsWith('.'))
    expect(files).toHaveLength(7)
    expect(files).toContain('Lunch Tempo (2).mrc')
    expect(await readFile(join(folder, 'Lunch Tempo.mrc'), 'utf8')).toBe('mine')
    await rm(join(folder, 'own0untitled0003.fit'))
    expect((await all('fit')).stderr).toContain('1 of 3 workouts written')
  })

  it('reports each mistake in one sentence with the command to type', async () => {
    const [file, kept] = [join(rig.dataDir, 'file'), join(rig.dataDir, 'kept')]
    await writeFile(file, '')
    for (const [line, sentence] of [
      ['nosuch --format zwo', 'there is no workout "nosuch"; run: musette workout list'],
      ['--format zwo', 'musette workout export --all'],
      ['--all --format zwo', '--to DIR'],
      ['x --format tcx', 'zwo, erg, mrc, fit, json'],
      [`--all --format zwo --to ${file}`, 'cannot be written'],
      [`--all --format zwo --to ${kept}`, 'MUSETTE_WORKOUTS=all'],
    ] as const) {
      const env = { MUSETTE_WORKOUT_DIR: kept }
      const { code, stdout, stderr } = await rig.musette(['workout', 'export', ...line.split(' ')], { env })
      expect([line, code, stdout, stderr]).toEqual([line, 2, '', expect.stringContaining(sentence)])
    }
  })
})
