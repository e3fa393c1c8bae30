/**
 * An open inspector: how smoothly its page scrolls, and what it costs its server.
 *
 * The page is in Chromium, in processes of its own, over a `TaskManager` of this process with 100,000 tasks, of which 1,000
 * change each second. It scrolls through the list, page by page. The peer is an empty page that scrolls in the same browser at
 * the same load. The row shows the time between two frames that 95 % of them keep to.
 *
 * For the cost, an agent answers messages without HTTP, one after the other. With an inspector, one page follows all changes,
 * and counts the tasks once a second, as the page does. Both sides keep a feed.
 */
import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type * as Inspectors from 'a2a-tasks/inspector'
import type * as Servers from 'a2a-tasks/server'
import type * as NodeServers from 'a2a-tasks/server/node'
import type { TaskManager } from 'a2a-tasks'
import { chromium, type Browser } from 'playwright-core'
import type { Build } from './build.js'
import { compare, type Variant } from './harness.js'
import { formatNs, timesTheFloor, type Row } from './report.js'
import { textOf, type Case } from './workload.js'

const TASKS = 100_000
const EVENTS_PER_SECOND = 1_000
const TICK_MS = 10
const MEASURE_MS = 10_000
const MAX_FRAME_NS = 33e6
const MESSAGES = 5_000
const HEADERS = { 'x-a2a-inspector': '1' }

/** What a page has, of what the measurement uses. */
interface InPage {
  readonly document: { querySelector(selector: string): { scrollBy(x: number, y: number): void } | null }
  readonly requestAnimationFrame: (callback: (time: number) => void) => void
}

type Fetch = (request: Request) => Promise<Response>

async function load<T>(build: Build, entry: string): Promise<T> {
  // What was built from the entry has its exports.
  return (await import(new URL(`./${entry}.js`, build.url).href)) as T
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** Changes tasks at the rate of the row, until it is stopped. */
function changeTasks(tasks: TaskManager, ids: readonly string[]): () => void {
  let done = 0
  const begun = performance.now()
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) / 1_000) * EVENTS_PER_SECOND
    for (; done < due; done += 1)
      tasks.updateTask(ids[(done * 7_919) % TASKS] ?? '', { message: `Change ${done}` })
  }, TICK_MS)
  return () => clearInterval(timer)
}

/** The time between frames that 95 % of them keep to, in ns, while `selector` scrolls down. */
async function frameTime(browser: Browser, url: string, selector: string): Promise<number> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } })
  await page.goto(url)
  await page.locator(selector).waitFor()
  const times = await page.evaluate(
    async ([scrolled, ms]) => {
      const { document, requestAnimationFrame } = globalThis as unknown as InPage
      const element = document.querySelector(scrolled)
      const frames: number[] = []
      let last = performance.now()
      for (const end = last + ms; last < end;) {
        const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
        frames.push(now - last)
        last = now
        element?.scrollBy(0, 40)
      }
      return frames.slice(1).sort((a, b) => a - b)
    },
    [selector, MEASURE_MS] as const,
  )
  await page.close()
  return (times[Math.floor(times.length * 0.95)] ?? NaN) * 1e6
}

async function frames(build: Build): Promise<Row[]> {
  const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
  if (!existsSync(executablePath)) throw new Error('There is no Chromium here: name it in CHROMIUM')
  const { createInspector } = await load<typeof Inspectors>(build, 'inspector/index')
  const { toNodeListener } = await load<typeof NodeServers>(build, 'server/node/index')
  const tasks = new build.library.TaskManager({ maxTasks: TASKS, feedSize: 10_000 })
  const ids = Array.from({ length: TASKS }, (_, index) => {
    const { id } = tasks.createTask({ skill: 'summarize', input: textOf(index) })
    tasks.updateTask(id, { state: 'working' })
    return id
  })
  const { fetch } = createInspector({ tasks, authorize: () => ({}) })
  const server = createServer(toNodeListener(fetch))
  const empty = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(
      '<div class="rows" style="height:800px;overflow:auto"><p style="height:9999999px">Nothing</p></div>',
    )
  })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const stop = changeTasks(tasks, ids)
  try {
    const theirs = await frameTime(browser, await listen(empty), '.rows')
    const ours = await frameTime(browser, await listen(server), '.rows')
    return [
      {
        work: 'page of 100,000 tasks at 1,000 events/s: 95 % of frames',
        ...{ peer: 'empty page', ours: formatNs(ours), theirs: formatNs(theirs) },
        ...{ value: ours, unit: 'ns', good: 'at most', gate: MAX_FRAME_NS },
      },
    ]
  } finally {
    stop()
    await browser.close()
    for (const each of [server, empty]) {
      each.closeAllConnections()
      each.close()
    }
    tasks.destroy()
  }
}

/** Follows all changes and counts tasks, as the page does, until it is stopped. */
async function watch(fetch: Fetch): Promise<() => void> {
  const controller = new AbortController()
  const get = (path: string): Promise<Response> =>
    fetch(new Request(`http://host.test/api/${path}`, { headers: HEADERS, signal: controller.signal }))
  const reader = (await get('changes')).body?.getReader()
  const read = async (): Promise<void> => {
    while ((await reader?.read())?.done === false);
  }
  void read()
  const timer = setInterval(() => void get('counts').then((response) => response.json()), 1_000)
  return () => {
    clearInterval(timer)
    controller.abort()
  }
}

async function answering(build: Build, feedSize: number) {
  const { createRequestHandler } = await load<typeof Servers>(build, 'server/index')
  const { createInspector } = await load<typeof Inspectors>(build, 'inspector/index')
  const options = { maxTasks: 10_000, whenFull: 'evict-terminal', feedSize } as const
  const tasks = new build.library.TaskManager(options)
  const handler = createRequestHandler({
    card: { name: 'Echo', url: 'http://agent.test' },
    tasks,
    anonymous: 'shared',
    execute: (run) => `You said: ${run.text}`,
  })
  const { fetch } = createInspector({ tasks, authorize: () => ({}) })
  let sent = 0
  const variant: Variant = {
    ops: MESSAGES,
    run: async () => {
      for (let count = 0; count < MESSAGES; count += 1) {
        sent += 1
        const message = { messageId: String(sent), role: 'ROLE_USER', parts: [{ text: textOf(sent) }] }
        await handler.dispatch({ jsonrpc: '2.0', id: sent, method: 'SendMessage', params: { message } })
        // As a server does, whose requests come over the network.
        if (sent % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
  const close = async (): Promise<void> => {
    await handler.close({ graceMs: 0 })
    tasks.destroy()
  }
  return { variant, fetch, close }
}

async function* overhead(build: Build): AsyncIterable<Row> {
  for (const [name, feedSize] of [
    ['with a feed', 10_000],
    ['by polling', 0],
  ] as const) {
    const [open, closed] = [await answering(build, feedSize), await answering(build, feedSize)]
    const stop = await watch(open.fetch)
    const times = await compare(open.variant, closed.variant, { rounds: 31, warmUpOps: 4 * MESSAGES })
    stop()
    await Promise.all([open.close(), closed.close()])
    yield timesTheFloor(`a message while an inspector is open, ${name}`, 'none open', times, {
      ...{ gate: 1.05, goal: 1.03 },
    })
  }
}

export const inspectorCases: readonly Case[] = [
  { name: 'inspector: frames of its page', run: frames },
  { name: 'inspector: cost for its server', run: overhead },
]
