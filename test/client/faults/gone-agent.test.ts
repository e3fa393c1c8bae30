/** Agents that are gone as soon as their stream has sent the end of the task. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  cardOf,
  chunk,
  clientOf,
  elapse,
  envelope,
  failureOf,
  scripted,
  status,
  task,
  writeEvents,
} from './scripted.js'

/** A real server that answers one stream with `events`, ends it, and does not listen any more. */
async function shortLived(events: readonly object[]) {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      const asked = JSON.parse(body) as { id: number }
      server.close()
      response.writeHead(200, { 'content-type': 'text/event-stream', connection: 'close' })
      response.end(events.map((event) => `data: ${envelope(asked, event)}\n\n`).join(''))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
  })
  return { card: cardOf([`http://127.0.0.1:${(server.address() as AddressInfo).port}`]) }
}

const WHOLE = [{ task: task('working') }, chunk('Hel', { append: false }), chunk('lo')]

test.each(['completed', 'failed', 'canceled', 'rejected'])(
  'a task that a stream has reported as %s is the result, though the agent cannot be reached any more',
  async (state) => {
    const client = clientOf(await shortLived([...WHOLE, status(state, { says: 'Bye' })]))
    const states: string[] = []
    const result = await client.run('hi', { onUpdate: ({ task: { state: now } }) => states.push(now) })
    expect(result).toMatchObject({ type: state, task: { id: 't-1', state } })
    expect(result.text).toBe(state === 'completed' ? 'Hello' : 'Bye')
    expect(states.filter((each) => each === state)).toHaveLength(1)
  },
)

test('a task that has not ended is an error when the agent is gone', async () => {
  const result = await clientOf(await shortLived(WHOLE)).run('hi')
  expect(failureOf(result)).toEqual({ type: 'error', code: 'EXTERNAL_SERVICE_ERROR' })
})

/** Streams the end of a task. `GetTask` is left to `answer`. */
function ending(answer: (response: ServerResponse) => object | undefined) {
  return scripted((asked) => {
    if (asked.method === 'GetTask') return answer(asked.response)
    writeEvents(asked, [...WHOLE, status('completed')])
    asked.response.end()
    return undefined
  })
}

test('an agent that does not answer after the end is waited for 2 seconds, not for the time limit of a request', async () => {
  const clock = new ManualClock()
  const agent = await ending(() => undefined)
  const started = clock.now()
  const result = await elapse(clock, clientOf(agent, { clock }).run('hi'), 100)
  expect(result).toMatchObject({ ok: true, type: 'completed', text: 'Hello' })
  expect(clock.now() - started).toBeLessThanOrEqual(2_100)
})

test('an agent that answers with errors after the end does not change the result', async () => {
  const agent = await ending((response) => {
    response.writeHead(502).end('Bad gateway')
    return undefined
  })
  expect(await clientOf(agent).run('hi')).toMatchObject({ ok: true, text: 'Hello' })
})

test('the task of an agent that still responds is the result, with contents that no stream had', async () => {
  const agent = await ending(() => task('completed', { text: 'Hello, in full' }))
  expect(await clientOf(agent).run('hi')).toMatchObject({ ok: true, text: 'Hello, in full' })
})

describe('a stream that has broken, and goes on', () => {
  /** The second stream ends the task. The agent fails to say more twice, and then has the whole task. */
  async function resumed(later: readonly object[], ids?: readonly string[]) {
    let streams = 0
    const asked: string[] = []
    const agent = await scripted((call) => {
      const { method, response } = call
      asked.push(method)
      if (method === 'GetTask') {
        const reads = asked.filter((each) => each === 'GetTask').length
        if (reads === 1) return task('working')
        if (reads === 4) return task('completed', { text: 'Hello' })
        response.writeHead(502).end('Bad gateway')
        return undefined
      }
      streams += 1
      if (streams === 1)
        writeEvents(call, [{ task: task('working') }, chunk('He', { append: false })], ids && ['1', '2'])
      else writeEvents(call, later, ids)
      response.end()
      return undefined
    })
    return { result: await clientOf(agent).run('hi'), asked }
  }

  test('without the events in between is completed by GetTask, with retries', async () => {
    const { result, asked } = await resumed([status('completed')])
    expect(result).toMatchObject({ ok: true, text: 'Hello' })
    expect(asked.filter((method) => method === 'GetTask')).toHaveLength(4)
  })

  test.each([
    ['with a snapshot', [{ task: task('working', { text: 'Hello' }) }, status('completed')], undefined],
    ['after its last event', [chunk('llo'), status('completed')], ['3', '4']],
  ])('%s is whole: one attempt to read more is enough', async (_, events, ids) => {
    const { result, asked } = await resumed(events, ids)
    expect(result).toMatchObject({ ok: true, text: 'Hello' })
    expect(asked.filter((method) => method === 'GetTask')).toHaveLength(2)
  })
})
