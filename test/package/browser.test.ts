/** The client in a page of a real browser, talking to an agent over loopback. */
import { createServer } from 'node:http'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { closeBrowser, listen, openPage, requireChromium } from '../support/browser.js'
import { bundle } from '../support/bundle.js'
import { execute } from './smoke-talk.mjs'

afterAll(closeBrowser)

/** What a page imports; it does as the runtimes do. */
const SCRIPT = `
import * as client from 'a2a-tasks/client'
import { parseAgentCard } from 'a2a-tasks/agent-card'
import { talk } from './test/package/smoke-talk.mjs'

document.addEventListener('securitypolicyviolation', ({ blockedURI }) => {
  throw new Error('The page broke its policy: ' + blockedURI)
})
const card = parseAgentCard(await (await fetch(AGENT + '/.well-known/agent-card.json')).json())
await talk(client, card.supportedInterfaces[0].url)
document.title = card.name + ' was read'
`

/** Answers as an agent that pages of any origin may ask. */
async function serveAgent(): Promise<string> {
  const server = createServer()
  const url = await listen(server)
  const handler = createRequestHandler({ card: { name: 'Echo', url }, execute })
  onTestFinished(() => handler.close())
  const listener = toNodeListener(handler.fetch)
  server.on('request', (request, response) => {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', '*')
    if (request.method === 'OPTIONS') response.end()
    else listener(request, response)
  })
  return url
}

function servePage(script: string): Promise<string> {
  return listen(
    createServer((request, response) => {
      const isScript = request.url === '/page.js'
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
      // No 'unsafe-eval': the client must not even try to compile code.
      response.setHeader('content-security-policy', "default-src 'self'; connect-src *")
      response.end(
        isScript ? script : '<!doctype html><title>…</title><script type="module" src="/page.js"></script>',
      )
    }),
  )
}

it(
  'in Chromium, under a policy without eval, the client connects, sends, streams, runs and cancels',
  { timeout: 90_000 },
  async (context) => {
    const chromium = requireChromium(context)
    const agent = await serveAgent()
    const { code } = await bundle(SCRIPT.replace('AGENT', JSON.stringify(agent)))
    const { page, failure } = await openPage(chromium, await servePage(code))
    // Playwright's own waiting would evaluate code in the page, which its policy forbids.
    const titled = expect.poll(() => page.title()).toBe('Echo was read')
    await Promise.race([titled, failure])
  },
)
