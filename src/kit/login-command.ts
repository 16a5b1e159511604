/** The command that signs an account in again, for the sentences that send a person there. */
export function loginCommand(account: string): string {
  return account === 'default' ? 'musette login' : `musette login ${account}`
}
