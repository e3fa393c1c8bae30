/** `npm run screenshots`: pictures of the inspector for the guide, of an agent with a few tasks. */
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { TaskManager } from 'a2a-tasks'
import { A2AClient } from 'a2a-tasks/client'
import { createInspector } from 'a2a-tasks/inspector'
import { createRequestHandler, textOf, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { chromium, type Page } from 'playwright-core'

const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url))
/** Twelve bars. */
const CHART =
  'iVBORw0KGgoAAAANSUhEUgAAAPAAAABkCAIAAAA3wCqQAAABjklEQVR42u3YwQ2EMAxFQXdENdAWXVETyokWIqFAYo/0r0/axcOFaO02S7PwCAxoM6DNgDYD2oA2A9oMaDOgbYKde/QPaAMaaAMaaAM67bbj6h/QQAMNNNBAAw000EADDTTQQAMNNNBAAw000EADPez/Ag000EADDTTQQAMNNNBAAw000FkPvOLLADTQQAMNNNBAAw10HtB/4QAaaKCBBhpooIEGGmiggQYaaKCBzvH5DGiggQYaaKCBBhpooIEGekbQnz0roIEGGuiSnxqBBhpooIEGGmiggQYaaKCBBroO6GoogQYaaKCBBhpooIEGGmiggQYaaKCBXrEFGg6ggdYC/aIFWgs00EADDQfQQGuBBloLtANrgYYDaKC1QAOtBRpoLdAOrAVaCzTQWqCB1gINtBZoB9YCrQUaaC3QQGuBBloLtANrgdYCDbQWaKC1QAOtBdqBtUBrgQZaCzTQWqCB1gLtwEADrQUaaC3QQGuBBloLtAMDDbQWaKC1QAOtBdqBtUA7MNBAa4Ee/Zsf773ciVpZbh0AAAAASUVORK5CYII='
const LINES = ['Fri 18:40  Vienna Hbf', 'Sat 06:31  Zürich HB', 'Sat 07:02  Zürich HB', 'Sat 10:58  Lausanne']

/** Its reports make the chart of changes: so many in each second and a half. */
const PACE = [1, 2, 2, 4, 3, 5, 7, 6, 8, 6, 4, 5, 3, 2, 2, 3]
const PERIOD_MS = 1_500

async function compare(run: Run): Promise<void> {
  for (let done = 0; ; done += 1) {
    run.update(`Compared ${done} connections`)
    const pace = PACE[Math.floor(done / 4) % PACE.length] ?? 1
    await sleep(PERIOD_MS / pace, undefined, { signal: run.signal })
  }
}

async function plan(run: Run): Promise<void> {
  if (/^Compare all/.test(run.text)) return await compare(run)
  if (/invoice/.test(run.text)) throw new Error('The archive did not answer: connection refused')
  run.update('Looking for connections')
  const fares = await run.step('search fares', () => sleep(240, { direct: 148, overnight: 96 }))
  const retry = { attempts: 3, backoff: { initialMs: 30 } }
  await run.step(
    'check seats',
    async ({ attempt }) => {
      if (attempt === 1) throw new Error('429 from the carrier')
      return await sleep(90, { direct: 4, overnight: 21 })
    },
    { retry },
  )
  if (/Book|Plan/.test(run.text)) {
    const answer = await run.requireInput(
      `Direct for ${fares.direct} €, or overnight for ${fares.overnight} €?`,
    )
    run.artifact({
      artifactId: 'plan',
      name: 'Itinerary',
      parts: [{ text: `Your choice: ${textOf(answer)}\n\n` }],
    })
  }
  for (const line of LINES) {
    await sleep(70)
    run.artifact({ artifactId: 'plan', name: 'Itinerary', parts: [{ text: `${line}\n` }] })
  }
  const picture = { raw: CHART, mediaType: 'image/png', filename: 'fares.png' }
  run.artifact({ artifactId: 'fares', name: 'Fares', parts: [{ data: fares }, picture] })
}

const handler = createRequestHandler({
  tasks: new TaskManager({ feedSize: 1_000 }),
  card: {
    name: 'Travel desk',
    url: 'http://localhost:3000',
    description: 'Plans trips, compares fares and books what you choose.',
    skills: [{ id: 'plan', name: 'Plan a trip', description: 'An itinerary by day', tags: ['travel'] }],
  },
  execute: plan,
  anonymous: 'shared',
  onError: () => undefined,
  retry: { attempts: 2, backoff: { initialMs: 20 } },
})
const { tasks } = handler
const inspector = createInspector({ tasks, handler, authorize: () => ({}), actions: true })
const server = createServer(toNodeListener(inspector.fetch))
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

const client = new A2AClient({
  card: handler.card,
  fetch: (at, init) => handler.fetch(new Request(at, init)),
})
const onInputRequired = (): Promise<string> => sleep(280, 'Overnight')
const texts = ['Compare trains from Vienna to Lausanne', 'Fares to Lisbon in May', 'Night trains to Rome']
for (const text of [...texts, 'Send me the invoice of March', 'Connections to Oslo']) await client.run(text)
const trip = await client.run('Book a trip to Lausanne for Friday', { onInputRequired })
for (const text of ['Book two seats to Hamburg', 'Plan a trip along the Adriatic']) await client.send(text)
const id = 'task' in trip ? (trip.task?.id ?? '') : ''

const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})

async function open(colorScheme: 'light' | 'dark'): Promise<Page> {
  const viewport = { width: 1200, height: 720 }
  const page = await browser.newPage({ viewport, colorScheme, reducedMotion: 'reduce' })
  await page.goto(`${url}#/t/${id}`)
  await page.locator('.timeline').waitFor()
  await page.getByText('Connections to Oslo').waitFor()
  return page
}

async function shoot(name: string, page: Page): Promise<void> {
  await page.locator('.sparkline').click()
  const path = `${FOLDER}${name}.png`
  await page.screenshot({ path })
  // Where it is installed, the pictures get small.
  spawnSync('pngquant', ['--speed', '1', '--strip', '--force', '--ext', '.png', '128', path])
  await page.close()
}

const [light, dark] = [await open('light'), await open('dark')]
await client.send('Compare all night trains of Europe', { returnImmediately: true })
// The chart fills.
await sleep(32 * PERIOD_MS)
await shoot('inspector', light)
await dark.getByRole('slider').fill('9')
await dark.locator('.heading-facts').getByText('Input required').waitFor()
await shoot('inspector-replay', dark)
await browser.close()
server.closeAllConnections()
server.close()
await handler.close({ graceMs: 0 })
