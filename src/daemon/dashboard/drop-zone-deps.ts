import type { App } from '../../app/app.ts'
import { findDroppedContents } from '../../store/dashboard/overview-page.ts'
import type { DropZoneDeps } from '../../web/dashboard/dashboard-types.ts'
import { dropFile } from './drop-file.ts'

/** Makes the drop zone. Where this process does not watch the drop folder it is closed, because the files would wait for ever. */
export function makeDropZone(
  app: Pick<App, 'config' | 'store'>,
  { isWatched }: { isWatched: boolean },
): DropZoneDeps {
  return {
    closed: isWatched
      ? undefined
      : 'this process does not watch the drop folder (it has no role watcher); type: musette upload FILE',
    dropFile: (input) => dropFile(app, input),
    findContents: (input) => app.store.read((tx) => findDroppedContents(tx, input)),
  }
}
