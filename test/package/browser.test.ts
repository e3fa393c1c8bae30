/** The client in a page of a real browser, talking to an agent over loopback. `.ci/run` installs the browser. */
import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { chromium } from 'playwright-core'
import { expect, it, onTestFinished } from 'vitest'
import { bundle } from '../support/bundle.js'
import { execute } from './smoke-talk.mjs'

const PATHS = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]
const CHROMIUM = PATHS.find((path) => path !== '' && existsSync(path))

/** What a page imports; it does as the runtimes do. */
const SCRIPT = `
import * as client from 'a2a-tasks/client'
import { parseAgentCard } from 'a2a-tasks/agent-card'
import { talk } from './test/package/smoke-talk.mjs'

const card = parseAgentCard(await (await fetch(AGENT + '/.well-known/agent-card.json')).json())
await talk(client, card.supportedInterfaces[0].url)
document.title = card.name + ' was heard'
`

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

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
      response.end(
        isScript ? script : '<!doctype html><title>…</title><script type="module" src="/page.js"></script>',
      )
    }),
  )
}

async function titleOf(url: string, path: string): Promise<string> {
  // As root, which CI is, Chromium has no sandbox. What it opens is ours.
  const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage()
    const failure = new Promise<never>((_, reject) => page.on('pageerror', reject))
    await page.goto(url)
    const titled = page.waitForFunction('/heard$/.test(document.title)', undefined, { timeout: 20_000 })
    await Promise.race([titled, failure])
    return await page.title()
  } finally {
    await browser.close()
  }
}

it(
  'in Chromium, the client connects, sends, streams, runs and cancels',
  { timeout: 40_000 },
  async ({ skip }) => {
    if (CHROMIUM === undefined) {
      const text = 'There is no Chromium here: apt-get install chromium, or name it in CHROMIUM'
      // .ci/run installs it.
      if (process.env['CI']) throw new Error(text)
      skip(text)
      return
    }
    const agent = await serveAgent()
    const { code } = await bundle(SCRIPT.replace('AGENT', JSON.stringify(agent)))
    expect(await titleOf(await servePage(code), CHROMIUM)).toBe('Echo was heard')
  },
)
