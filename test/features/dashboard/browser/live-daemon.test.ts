import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeFitFile } from '../../../../src/sandbox/fit-file.ts'
import { describeWithBrowser } from '../../../kit/chromium.ts'
import { openScene, type Scene } from './scene.ts'

describeWithBrowser('the page of today beside a daemon at work', () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ activities: 3, roles: 'scheduler,worker,watcher,web' })
  })
  afterAll(() => scene.close())

  it('shows the first history and the result of a dropped file without a reload', async () => {
    const page = await scene.visit('/')
    await page.evaluate('window.sameDocument = true')
    const activities = page.getByRole('region', { name: 'Recent activities' })
    await activities.getByRole('rowheader').nth(2).waitFor({ timeout: 30_000 })

    const folder = join(scene.dataDir, 'drop')
    await mkdir(folder, { recursive: true })
    await writeFile(
      join(folder, 'lunch.fit'),
      makeFitFile({ startedAt: new Date(Date.now() - 3_600_000), seconds: 900 }),
    )
    await writeFile(join(folder, 'shopping.fit'), 'milk, bread')
    const uploads = page.getByRole('region', { name: 'Uploads' })
    const lunch = uploads.getByRole('row', { name: /^lunch\.fit/ })
    await lunch.getByText('mirrored').waitFor({ timeout: 45_000 })
    await uploads
      .getByRole('row', { name: /^shopping\.fit/ })
      .getByText('refused')
      .waitFor({ timeout: 30_000 })
    expect(await uploads.getByRole('row', { name: /^shopping\.fit/ }).textContent()).toContain('FIT header')

    await lunch.getByRole('link').click()
    await page
      .getByRole('application', { name: /^The activity over time/ })
      .locator('canvas')
      .first()
      .waitFor()
    expect(await page.getByText('It came from the file lunch.fit').isVisible()).toBe(true)
    expect(scene.takeComplaints()).toEqual([])
  })
})
