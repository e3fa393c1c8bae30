/** `npm run screenshots`: pictures of the inspector for the guide, of an agent with a few tasks. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { A2AClient } from 'a2a-tasks/client'
import { createInspector } from 'a2a-tasks/inspector'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { TaskManager } from 'a2a-tasks'
import { chromium, type Page } from 'playwright-core'

const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url))
const CHART =
  'iVBORw0KGgoAAAANSUhEUgAAAPAAAABkCAIAAAA3wCqQAAABjklEQVR42u3YwQ2EMAxFQXdENdAWXVETyokWIqFAYo/0r0/axcOFaO02S7PwCAxoM6DNgDYD2oA2A9oMaDOgbYKde/QPaAMaaAMaaAM67bbj6h/QQAMNNNBAAw000EADDTTQQAMNNNBAAw000EADPez/Ag000EADDTTQQAMNNNBAAw000FkPvOLLADTQQAMNNNBAAw10HtB/4QAaaKCBBhpooIEGGmiggQYaaKCBzvH5DGiggQYaaKCBBhpooIEGekbQnz0roIEGGuiSnxqBBhpooIEGGmiggQYaaKCBBroO6GoogQYaaKCBBhpooIEGGmiggQYaaKCBXrEFGg6ggdYC/aIFWgs00EADDQfQQGuBBloLtANrgYYDaKC1QAOtBRpoLdAOrAVaCzTQWqCB1gINtBZoB9YCrQUaaC3QQGuBBloLtANrgdYCDbQWaKC1QAOtBdqBtUBrgQZaCzTQWqCB1gLtwEADrQUaaC3QQGuBBloLtAMDDbQWaKC1QAOtBdqBtUA7MNBAa4Ee/Zsf773ciVpZbh0AAAAASUVORK5CYII='

const tasks = new TaskManager()
const handler = createRequestHandler({
  card: {
    name: 'Travel desk',
    url: 'http://localhost:3000',
    description: 'Plans trips, compares fares and books what you choose.',
    skills: [
      { id: 'plan', name: 'Plan a trip', description: 'An itinerary by day', tags: ['travel', 'planning'] },
      { id: 'book', name: 'Book', description: 'Seats and rooms, after your consent', tags: ['travel'] },
    ],
  },
  tasks,
  anonymous: 'shared',
  onError: () => undefined,
  retry: { attempts: 2, backoff: { initialMs: 20 } },
  async execute(run) {
    const { text } = run
    if (/invoice/i.test(text)) throw new Error('The archive did not answer: connection refused')
    run.update('Looking for connections')
    const fares = await run.step('search fares', async () => {
      await sleep(240)
      return { direct: 148, overnight: 96, currency: 'EUR' }
    })
    await run.step(
      'check seats',
      async ({ attempt }) => {
        await sleep(90)
        if (attempt === 1) throw new Error('429 from the carrier')
        return { direct: 4, overnight: 21 }
      },
      { retry: { attempts: 3, backoff: { initialMs: 30 } } },
    )
    if (/book|trip/i.test(text)) {
      const answer = await run.requireInput(
        `Direct for ${fares.direct} €, or overnight for ${fares.overnight} €?`,
      )
      run.artifact({
        artifactId: 'itinerary',
        name: 'Itinerary',
        parts: [{ text: `Your choice: ${answer.parts[0]?.text ?? ''}\n\n` }],
      })
    }
    for (const line of [
      'Fri 18:40  Vienna Hbf\n',
      'Sat 06:31  Zürich HB\n',
      'Sat 07:02  Zürich HB\n',
      'Sat 10:58  Lausanne\n',
    ]) {
      await sleep(70)
      run.artifact({ artifactId: 'itinerary', parts: [{ text: line }] })
    }
    run.artifact({
      artifactId: 'fares',
      name: 'Fares',
      parts: [{ data: fares }, { raw: CHART, mediaType: 'image/png', filename: 'fares.png' }],
    })
  },
})
const inspector = createInspector({ tasks, handler, authorize: () => ({ user: 'demo' }), actions: true })
const listener = toNodeListener(inspector.fetch)
const server = createServer(listener)
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
const client = new A2AClient({
  card: handler.card,
  fetch: (at, init) => handler.fetch(new Request(at, init)),
})

const run = (text: string, answer?: string) =>
  client.run(text, { onInputRequired: () => sleep(280, answer ?? '') })
for (const text of [
  'Compare trains from Vienna to Lausanne',
  'Fares to Lisbon in May',
  'Night trains to Rome',
])
  await run(text)
await run('Send me the invoice of March')
const [trip] = await Promise.all([
  run('Book a trip to Lausanne for Friday', 'Overnight'),
  run('Connections to Oslo'),
])
const first = await client.send('Book two seats to Hamburg', { returnImmediately: true })
await client.send('Plan a trip along the Adriatic', { returnImmediately: true })
await sleep(700)
void first
const id = 'task' in trip ? (trip.task?.id ?? '') : ''

const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
async function shoot(
  name: string,
  path: string,
  options: { dark?: boolean; phone?: boolean; before?: (page: Page) => Promise<unknown> } = {},
): Promise<void> {
  const page = await browser.newPage({
    viewport: options.phone ? { width: 390, height: 780 } : { width: 1280, height: 800 },
    colorScheme: options.dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  })
  page.on('pageerror', (error) => console.error(name, error))
  page.on('console', (message) => message.type() === 'error' && console.error(name, message.text()))
  await page.goto(url + path)
  await page.waitForSelector('.row, .agent-page', { state: 'attached' })
  await sleep(600)
  await options.before?.(page)
  await page.screenshot({ path: `${FOLDER}${name}.png` })
  await page.close()
}
const taskPath = `#/t/${id}`
await shoot('inspector', taskPath)
await shoot('inspector-dark', taskPath, {
  dark: true,
  before: async (page) => {
    await page.getByRole('slider').fill('9')
    await sleep(500)
  },
})
await shoot('inspector-log', taskPath, {
  before: async (page) => {
    await page.getByRole('tab', { name: 'Log' }).click()
    await page
      .getByRole('button', { name: /^JSON of/ })
      .nth(3)
      .click()
  },
})
await shoot('inspector-phone', taskPath, { phone: true, before: async () => undefined }).catch((e: unknown) =>
  console.error(e),
)
await shoot('inspector-agent', '#/agent')
await browser.close()
server.closeAllConnections()
server.close()
await handler.close({ graceMs: 0 })
tasks.destroy()
