/** The recipe for Restate, on a real server. Its SDK needs Node 22: `npm run test:node22`. */
import { freePort } from '../../support/free-port.js'
import { isInstalled } from '../installed.js'
import { isNode22, testEngine } from './engine.js'
import { needsNode22 } from './needs-node22.js'
import { startRestate, type RestateServer } from './restate-server.js'

const PACKAGES = ['@restatedev/restate-server', '@restatedev/restate-sdk', '@restatedev/restate-sdk-clients']

/** Where the workers of the test listen. */
let port = 0

/** What `restate deployments register` does. */
async function register({ adminUrl }: RestateServer): Promise<void> {
  const response = await fetch(`${adminUrl}/deployments`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri: `http://127.0.0.1:${port}`, force: true }),
  })
  if (!response.ok) throw new Error(`Restate answered ${response.status}: ${await response.text()}`)
}

if (isNode22)
  testEngine({
    heading: 'Restate',
    packages: PACKAGES,
    isKilled: false,
    turns: 300,
    hasServer: () => isInstalled(...PACKAGES),
    skip: () => undefined,
    start: startRestate,
    empty: async ({ url }) => {
      port ||= await freePort()
      return { RESTATE_URL: url, PORT: String(port) }
    },
    whenConsuming: register,
  })
else needsNode22('Restate')
