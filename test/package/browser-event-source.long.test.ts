/** A task followed by the `EventSource` of a real browser, which connects again by itself when it is cut off. */
import { createServer, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import type { Page } from 'playwright-core'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { closeBrowser, listen, openPage, requireChromium } from '../support/browser.js'
import { gate } from '../server/spec/support/agent.js'

afterAll(closeBrowser)

/** A page that follows a task. It closes when the task has ended, or goes on until it is refused. */
const PAGE = `<!doctype html>
<script>
  const { searchParams } = new URL(location)
  const source = new EventSource('/tasks/' + searchParams.get('task') + ':subscribe')
  const seen = []
  const states = []
  source.onmessage = ({ lastEventId, data }) => {
    const { task, statusUpdate, artifactUpdate } = JSON.parse(data)
    const state = (task ?? statusUpdate)?.status.state
    seen.push({ id: Number(lastEventId), what: artifactUpdate?.artifact.parts[0].text ?? state })
    if (/COMPLETED|FAILED|CANCELED|REJECTED/.test(state) && searchParams.has('close')) source.close()
  }
  source.addEventListener('resync', () => seen.push({ what: 'resync' }))
  source.onerror = ({ data }) => {
    if (data !== undefined) seen.push({ what: data })
    states.push(source.readyState)
  }
</script>`

/** In the middle of an event. The proxy that cuts it off also announces, as some do, that the client need not wait. */
const HALF_AN_EVENT = 'retry: 1\nid: 99\ndata: {"artifactUpdate":'

/** Of an EventSource that has been cut off: it connects again, or never will. */
const CONNECTING = 0
const CLOSED = 2

/** An agent that tells a task in three parts, and what connects to it. */
async function serve() {
  const [begin, cut, resume, missed] = [gate(), gate(), gate(), gate()]
  const server = createServer()
  const url = await listen(server)
  const handler = createRequestHandler({
    card: { name: 'Counter', url },
    async *execute() {
      await begin.opened
      yield* ['one', 'two']
      await cut.opened
      yield* ['three', 'four']
      missed.open()
      await resume.opened
      yield* ['five', 'six']
    },
  })
  onTestFinished(() => handler.close({ graceMs: 0 }))
  const streams: ServerResponse[] = []
  const cursors: unknown[] = []
  const listener = toNodeListener(handler.fetch)
  server.on('request', (request, response) => {
    if (!request.url?.endsWith(':subscribe')) {
      response.setHeader('content-type', 'text/html')
      response.end(PAGE)
      return
    }
    streams.push(response)
    cursors.push(request.headers['last-event-id'])
    // A client that reconnects has missed events.
    if (streams.length === 1) listener(request, response)
    else void missed.opened.then(() => listener(request, response))
  })
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Count' }] }
  const params = { message, configuration: { returnImmediately: true } }
  await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  const [task] = handler.tasks.listTasks()
  return { url, id: task?.id ?? '', streams, cursors, begin, cut, resume }
}

/** What the page has seen, as soon as that is among it. */
async function seenWith(page: Page, what: string): Promise<{ id: number; what: string }[]> {
  await page.waitForFunction(`seen.some((event) => event.what === ${JSON.stringify(what)})`)
  return page.evaluate('seen')
}

async function cutOff(response: ServerResponse): Promise<void> {
  await new Promise((resolve) => response.write(HALF_AN_EVENT, resolve))
  response.socket?.destroy()
  await once(response, 'close')
}

it.for([
  ['closes', { query: '&close', states: [CONNECTING], connections: 2 }],
  ['is refused', { query: '', states: [CONNECTING, CONNECTING, CLOSED], connections: 3 }],
] as const)(
  'in Chromium, an EventSource that is cut off sees each event once, and at the end %s',
  { timeout: 90_000 },
  async ([, { query, states, connections }], context) => {
    const chromium = requireChromium(context)
    const { url, id, streams, cursors, begin, cut, resume } = await serve()
    const { page } = await openPage(chromium, `${url}/?task=${id}${query}`)

    await seenWith(page, 'TASK_STATE_WORKING')
    begin.open()
    const before = await seenWith(page, 'two')
    const [stream] = streams
    if (stream) await cutOff(stream)
    cut.open()
    await seenWith(page, 'four')
    resume.open()
    await page.waitForFunction(`source.readyState === ${CLOSED}`)

    const seen = await seenWith(page, 'TASK_STATE_COMPLETED')
    const texts = ['one', 'two', 'three', 'four', 'five', 'six']
    const whole = ['TASK_STATE_WORKING', ...texts, 'TASK_STATE_COMPLETED']
    expect(seen.map(({ what }) => what)).toEqual(whole)
    const [first = { id: 0 }] = seen
    expect(seen.map(({ id }) => id)).toEqual(whole.map((_, index) => first.id + index))
    expect(await page.evaluate('states')).toEqual(states)
    const again = [before.at(-1)?.id, seen.at(-1)?.id].map(String)
    expect(cursors).toEqual([undefined, ...again].slice(0, connections))
    expect(streams.at(-1)?.statusCode).toBe(connections === 2 ? 200 : 400)
  },
)
