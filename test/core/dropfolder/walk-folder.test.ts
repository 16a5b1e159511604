import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { walkFolder } from '../../../src/core/dropfolder/walk-folder.ts'
import { openTempDir } from '../../kit/temp-dir.ts'

it('lists 130,000 files in one folder', async () => {
  const folder = await openTempDir('many')
  try {
    for (let i = 0; i < 130_000; i++) closeSync(openSync(join(folder.path, `${i}.fit`), 'w'))
    const walked = await walkFolder(folder.path, { accounts: ['default'], isDroppable: () => true })
    expect(walked.found).toHaveLength(130_000)
  } finally {
    await folder.close()
  }
}, 120_000)
