import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Finding, ok, problem, warning } from '../finding.ts'
import type { Patient } from '../patient.ts'
import { findExisting, isAllowed, quote, readFolder } from './folder.ts'

/** Files that hold a key, a password or sealed tokens: for their owner alone. */
const SECRETS = /^(secret\.key(\.new-.*)?|postgres\.json|tokens-.*\.spool.*)$/

/** Looks whether the data directory can be used, by this user and by nobody else. */
export async function checkDataDirectory({ config }: Pick<Patient, 'config'>): Promise<Finding[]> {
  const { dataDir } = config
  const folder = await readFolder(dataDir, 'MUSETTE_DATA_DIR')
  if ('wrong' in folder) return [folder.wrong]
  const { stats } = folder
  if (!stats) return [await judgeMissing(dataDir)]
  if (!(await isAllowed(dataDir, 'write'))) {
    const found = `${dataDir} cannot be written by this user`
    return [problem('configuration', found, `sudo chown -R "$(id -un)" ${quote(dataDir)}`)]
  }
  const findings = [...(await judgeSecrets(dataDir)), ...judgeOwner(dataDir, stats)]
  return findings.length > 0 ? findings : [ok(dataDir)]
}

async function judgeMissing(dataDir: string): Promise<Finding> {
  const parent = await findExisting(dataDir)
  if (await isAllowed(parent, 'write')) return ok(`${dataDir} is not there yet; the first login makes it`)
  const found = `${dataDir} is not there and cannot be made in ${parent}; set MUSETTE_DATA_DIR to a folder of yours`
  return problem('configuration', found, 'export MUSETTE_DATA_DIR="$HOME/.musette"')
}

async function judgeSecrets(dataDir: string): Promise<Finding[]> {
  if (process.platform === 'win32') return []
  const names = (await readdir(dataDir)).filter((name) => SECRETS.test(name))
  const looks = await Promise.all(
    names.map(async (name) => {
      const stats = await stat(join(dataDir, name)).catch(() => undefined)
      if (!stats || (stats.mode & 0o077) === 0) return []
      const path = join(dataDir, name)
      return [problem('configuration', `others may read ${path}`, `chmod 600 ${quote(path)}`)]
    }),
  )
  return looks.flat()
}

function judgeOwner(dataDir: string, stats: { mode: number; uid: number }): Finding[] {
  if (process.platform === 'win32') return []
  const findings: Finding[] = []
  if ((stats.mode & 0o007) !== 0) {
    findings.push(warning(`everybody may look into ${dataDir}`, `chmod 700 ${quote(dataDir)}`))
  }
  const user = process.getuid?.()
  if (user !== undefined && user !== 0 && stats.uid !== user) {
    const found = `${dataDir} belongs to another user (id ${stats.uid}), and what that one makes may not be readable`
    findings.push(warning(found, `sudo chown -R "$(id -un)" ${quote(dataDir)}`))
  }
  return findings
}
