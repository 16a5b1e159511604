/** The steps that a page shows if there is no account yet. */
export function FirstSteps() {
  return (
    <section class="card empty-state">
      <h2>No account yet</h2>
      <ol>
        <li>
          Say where the service is: <code>export MUSETTE_BASE_URL=https://the-address-of-the-service</code>
        </li>
        <li>
          In the same shell, sign in; musette asks for the password and does not store it:{' '}
          <code>musette login --username you@example.com</code>
        </li>
      </ol>
      <p>Then your history appears here, newest ride first.</p>
      <p class="quiet">
        To try musette with an invented rider first, run this in a clone of musette: <code>npm run demo</code>
      </p>
    </section>
  )
}
