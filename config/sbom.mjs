// Prints the SBOM of what a production install holds of others, with --omit=optional of what the image holds.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const options = ['--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx', '--sbom-type=application']
const printed = execFileSync('npm', ['sbom', ...options, ...process.argv.slice(2)], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  shell: process.platform === 'win32',
})
const sbom = JSON.parse(printed)
// npm gives it the name of the folder.
sbom.metadata.component.name = JSON.parse(readFileSync(`${root}package.json`, 'utf8')).name
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`)
