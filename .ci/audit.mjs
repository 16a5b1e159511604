// Asks the registry what is known against the libraries that run in production: `node .ci/audit.mjs`. Whatever it knows
// is a failure. A registry that gives no answer is told in a sentence and is none: then nothing is known, good or bad.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const asked = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  encoding: 'utf8',
  shell: process.platform === 'win32',
})
const report = parseReport(asked.stdout)
if (report?.vulnerabilities) tellFindings(Object.values(report.vulnerabilities))
else tellSilence(report?.message ?? asked.error?.message ?? 'npm said nothing that can be read')

function tellFindings(findings) {
  for (const { name, severity, via, fixAvailable } of findings) {
    const titles = via.map((one) => (typeof one === 'string' ? `by way of ${one}` : one.title))
    say(
      `${name} (${severity}): ${[...new Set(titles)].join('; ')}${fixAvailable ? '; run: npm audit fix' : ''}`,
    )
  }
  if (findings.length === 0) say('nothing is known against the libraries')
  else process.exitCode = 1
}

function tellSilence(reason) {
  say(`the registry was not to be asked what is known against the libraries (${reason})`)
}

function parseReport(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function say(sentence) {
  process.stderr.write(`musette: ${sentence}\n`)
}
