/** The steps that a page shows before there is an account. */
export function FirstSteps() {
  return (
    <section class="card empty-state">
      <h2>No account yet</h2>
      <ol>
        <li>
          Say where the service is: <code>export MUSETTE_BASE_URL=https://the-address-of-the-service</code>
        </li>
        <li>
          In the same shell sign in; you type the password, and it is not kept:{' '}
          <code>musette login --username you@example.com</code>
        </li>
      </ol>
      <p>The history then appears here by itself, newest ride first.</p>
      <p class="quiet">
        To look around with a made-up rider first, type in a clone of musette: <code>npm run demo</code>
      </p>
    </section>
  )
}
