// Prints the SBOM of what a production install holds of others, after a build: the libraries that are bundled in dist/, and the embedded
// Postgres, which `--omit=optional` leaves out, as the image does.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const readJson = (path) => JSON.parse(readFileSync(root + path, 'utf8'))
const options = ['--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application']
const printed = execFileSync('npm', ['sbom', ...options], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 1 << 28,
  shell: process.platform === 'win32',
})
const sbom = JSON.parse(printed)
const { name, optionalDependencies = {} } = readJson('package.json')
// npm names it after the folder.
sbom.metadata.component.name = name
const bundled = new Set(readJson('dist/.libraries.json'))
const beside = process.argv.includes('--omit=optional') ? {} : optionalDependencies
sbom.components = sbom.components.filter(
  (one) => bundled.delete(`${one.name}@${one.version}`) || Object.hasOwn(beside, one.name),
)
if (bundled.size > 0) throw new Error(`not in package-lock.json: ${[...bundled].join(', ')}; run: npm ci`)
// npm calls a bundled library that the tools need too one of development.
for (const one of sbom.components)
  one.properties = one.properties?.filter(({ name: property }) => property !== 'cdx:npm:package:development')
const shipped = new Set([sbom.metadata.component, ...sbom.components].map((one) => one['bom-ref']))
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => shipped.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => shipped.has(one)) }))
process.stdout.write(`${JSON.stringify(sbom, null, 2)}\n`)
