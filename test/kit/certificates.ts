import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** Makes a certificate for "localhost" and its authority, which no system trusts. */
export async function makeCertificates(dir: string): Promise<void> {
  const run = (...args: string[]) => promisify(execFile)('openssl', args, { cwd: dir })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  await run('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=authority')
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  await run('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', ...subject)
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-copy_extensions', 'copy']
  await run('x509', '-req', '-in', 'server.csr', ...signed, '-out', 'server.crt')
}
