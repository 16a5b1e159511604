import type { Logger } from 'pino'

/** Makes the voice that says once, with the command to type, which folders hold files of nobody's account. */
export function makeStrangers(log: Logger): (folders: readonly string[]) => void {
  const said = new Set<string>()
  return (folders) => {
    for (const folder of folders.filter((name) => !said.has(name))) {
      said.add(folder)
      const sentence =
        folder === '.'
          ? 'files in the drop folder wait for an account; run: musette login'
          : `files in the folder ${folder} wait, because there is no account of that name; run: musette login ${folder}`
      log.info({ folder }, sentence)
    }
    for (const name of said) if (!folders.includes(name)) said.delete(name)
  }
}
