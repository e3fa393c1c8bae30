/** What one client can take of the process and of the other clients, and answers that arrive twice. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { createRequestHandler, type Execute, type RequestHandlerOptions } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import * as z from 'zod'
import { messagesIn, requestOf, sceneOf, statelessRequest, type Json } from './kit.js'

const TASKS = { tasks: true, elicitation: { form: {}, url: {} } }
const CALL = { name: 'default', arguments: { message: 'Go' } }
const twoQuestions: Execute = async (run) => {
  const name = await run.requireInput('Your name?')
  const file = await run.requireInput('Which file to delete?')
  return `${name.parts[0]?.text ?? ''} deletes ${file.parts[0]?.text ?? ''}`
}
const asks: Execute = async (run) => {
  await run.requireInput('Which city?')
}

/** A task that waits for the answer to its first question. */
async function asked(execute: Execute, options: Parameters<typeof sceneOf>[1] = {}) {
  const scene = sceneOf(execute, options)
  const taskId = String((await scene.say('Go', TASKS)).result['taskId'])
  const get = async (): Promise<Json> => (await scene.ask('tasks/get', { taskId }, TASKS)).result
  const [key = ''] = Object.keys((await get())['inputRequests'] as Json)
  return { ...scene, taskId, get, key }
}

const answerWith = (answer: string): object => ({ action: 'accept', content: { answer } })

describe('an answer in words that arrives twice at once answers one question', () => {
  const until = async (scene: Awaited<ReturnType<typeof asked>>): Promise<Json> => {
    await scene.tasks.waitFor(scene.taskId, { until: ({ messages }) => messages.length === 4 })
    return await scene.get()
  }

  it('by tasks/update', async () => {
    const scene = await asked(twoQuestions)
    const { ask, taskId, key } = scene
    const params = { taskId, inputResponses: { [key]: answerWith('Ann') } }
    const replies = await Promise.all([1, 2].map(() => ask('tasks/update', params, TASKS)))
    expect(replies.map(({ last }) => 'result' in last)).toEqual([true, true])
    expect(await until(scene)).toMatchObject({
      status: 'input_required',
      statusMessage: 'Which file to delete?',
    })
  })

  it('by the response of a session', async () => {
    const scene = await asked(twoQuestions)
    const { send, taskId, key } = scene
    const id = `${taskId.length}/${taskId}/${key}`
    const response = { jsonrpc: '2.0', id, result: answerWith('Ann') }
    const replies = await Promise.all([1, 2].map(() => send(requestOf(response))))
    expect(replies.map(({ status }) => status)).toEqual([202, 202])
    expect((await until(scene))['statusMessage']).toBe('Which file to delete?')
  })

  it('by a call that is repeated with it', async () => {
    const scene = await asked(twoQuestions)
    const { ask, taskId, key } = scene
    const params = { ...CALL, requestState: taskId, inputResponses: { [key]: answerWith('Ann') } }
    const replies = await Promise.all([1, 2].map(() => ask('tools/call', params, { elicitation: {} })))
    expect(replies.map(({ result }) => result['resultType'])).toEqual(['input_required', 'input_required'])
    expect((await until(scene))['statusMessage']).toBe('Which file to delete?')
  })

  it('and of two that differ, one', async () => {
    const scene = await asked(twoQuestions)
    const { ask, taskId, key } = scene
    const answered = await Promise.all(
      ['Ann', 'Bob'].map((name) =>
        ask('tasks/update', { taskId, inputResponses: { [key]: answerWith(name) } }, TASKS),
      ),
    )
    expect(answered.map(({ last }) => 'error' in last)).toEqual([false, false])
    expect((await until(scene))['statusMessage']).toBe('Which file to delete?')
  })

  it('at two processes', async () => {
    const store = memoryStore()
    let runs = 0
    const replicas = [1, 2].map(() => {
      const handler = createRequestHandler({
        anonymous: 'shared',
        card: { name: 'Agent', url: 'https://agent.test' },
        tasks: new DurableTaskManager({ store }),
        execute: async (run) => {
          runs += 1
          return await twoQuestions(run)
        },
      })
      return { handler, mcp: createMcpHandler(handler) }
    })
    const [one, two] = replicas
    if (one === undefined || two === undefined) throw new Error('No replicas')
    const post = async (mcp: typeof one.mcp, method: string, params: object): Promise<Json> =>
      ((await (await mcp(statelessRequest(1, method, params, TASKS))).json()) as { result: Json }).result
    const { taskId } = await post(one.mcp, 'tools/call', CALL)
    const { inputRequests } = await post(two.mcp, 'tasks/get', { taskId })
    const [key = ''] = Object.keys(inputRequests as Json)
    const params = { taskId, inputResponses: { [key]: answerWith('Ann') } }
    await Promise.all([one, two, one, two].map(({ mcp }) => post(mcp, 'tasks/update', params)))
    await expect
      .poll(async () => (await post(one.mcp, 'tasks/get', { taskId }))['statusMessage'])
      .toBe('Which file to delete?')
    const task = await one.handler.tasks.peekTask(String(taskId))
    expect(task?.messages.map(({ role }) => role)).toEqual(['user', 'agent', 'user', 'agent'])
    expect(runs).toBeLessThanOrEqual(2)
    for (const { handler } of replicas) {
      await handler.close({ graceMs: 0 })
    }
  })

  it('with the id of its question too', async () => {
    const { ask, taskId, key, tasks } = await asked(async (run) => {
      const city = await run.requireInput('Which city?', { schema: z.string() })
      await run.requireInput('And in words?')
      return city
    })
    const params = {
      taskId,
      inputResponses: { [key]: { action: 'accept', content: { value: 'Rome' } } },
    }
    await Promise.all([1, 2].map(() => ask('tasks/update', params, TASKS)))
    const task = await tasks.waitFor(taskId, { until: ({ messages }) => messages.length >= 4 })
    expect(task).toMatchObject({ state: 'input-required', messages: { length: 4 } })
  })
})

describe('an agent that shuts down', () => {
  it.each(['listen', 'session'])('ends the streams, so that the server closes: %s', async (kind) => {
    const { handler, mcp, taskId } = await asked(asks, { pollIntervalMs: 1 })
    const server = createServer(toNodeListener(mcp))
    await new Promise<void>((resolve) => server.listen(0, resolve))
    const url = `http://localhost:${(server.address() as AddressInfo).port}/`
    const session = { 'mcp-session-id': '12345678-1234-1234-1234-123456789012.f' }
    const request =
      kind === 'listen'
        ? statelessRequest(1, 'subscriptions/listen', { notifications: { taskIds: [taskId] } }, TASKS)
        : requestOf({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: CALL }, session)
    const response = await fetch(url, {
      method: 'POST',
      headers: request.headers,
      body: await request.text(),
    })
    await handler.close({ graceMs: 0 })
    const closed = new Promise((resolve) => server.close(resolve))
    const messages = messagesIn(await response.text())
    expect(messages.at(-1)).toMatchObject({ id: 1, error: { code: -32603 } })
    await closed
  })
})

describe('calls at a time', () => {
  const authenticate: RequestHandlerOptions['authenticate'] = (request) => {
    const id = request.headers.get('authorization')
    return id === null ? null : { id }
  }
  const by = (who: string, request: Request): Request => {
    request.headers.set('authorization', who)
    return request
  }
  /** An agent whose tasks never end. */
  const busy = (maxCalls: number) => {
    const scene = sceneOf(() => new Promise(() => undefined), {
      maxCalls,
      waitMs: 0,
      handler: { anonymous: undefined, authenticate } as Partial<RequestHandlerOptions>,
    })
    const call = (who: string): Promise<Response> =>
      scene.mcp(by(who, statelessRequest(1, 'tools/call', CALL)))
    const list = async (who: string): Promise<number> =>
      (await scene.mcp(by(who, statelessRequest(1, 'tools/list', {})))).status
    return { ...scene, call, list }
  }

  it('of one user are half of all at most', async () => {
    const { call, list } = busy(4)
    const statuses = []
    for (let count = 0; count < 3; count += 1) statuses.push((await call('ann')).status)
    expect(statuses).toEqual([200, 200, 503])
    expect([await list('ann'), await list('bob')]).toEqual([503, 200])
  })

  it('of a user whom the layer around it knows too', async () => {
    const { mcp } = busy(2)
    const call = (id: string): Promise<Response> =>
      mcp(statelessRequest(1, 'tools/call', CALL), { principal: { id } })
    expect((await call('ann')).status).toBe(200)
    expect((await call('ann')).status).toBe(503)
    expect((await mcp(statelessRequest(1, 'tools/list', {}), { principal: { id: 'bob' } })).status).toBe(200)
  })

  it('may not all be streams', async () => {
    const { call, list } = busy(8)
    const statuses = []
    for (let count = 0; count < 8; count += 1) statuses.push((await call(`user-${count}`)).status)
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 503, 503])
    expect(await list('user-9')).toBe(200)
  })

  it('count notifications that wait', async () => {
    let begun = (): void => undefined
    const accepting = new Promise<void>((resolve) => (begun = resolve))
    const execute: Execute = Object.assign(() => 'Done', {
      accept: () => {
        begun()
        return new Promise<never>(() => undefined)
      },
    })
    const { mcp } = sceneOf(execute, { maxCalls: 5 })
    const session = { 'mcp-session-id': '12345678-1234-1234-1234-123456789012.f' }
    void mcp(requestOf({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: CALL }, session))
    await accepting
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    let statuses: number[] = []
    for (let count = 0; count < 20; count += 1)
      void mcp(requestOf(cancel, session)).then(({ status }) => (statuses = [...statuses, status]))
    await expect.poll(() => statuses.length).toBe(16)
    expect(new Set(statuses)).toEqual(new Set([503]))
  })
})

describe('a reader that lags', () => {
  it('gets the latest progress only, and its first 4,096 characters', async () => {
    let goOn = (): void => undefined
    const read = new Promise<void>((resolve) => (goOn = resolve))
    const { mcp, handler } = sceneOf(async (run) => {
      for (let count = 0; count < 20; count += 1) run.update(`${count} ${'x'.repeat(5_000)}`)
      await read
      run.update('Last')
      return 'Done'
    })
    const response = await mcp(statelessRequest(1, 'tools/call', CALL, { progressToken: 'p' }))
    goOn()
    await expect.poll(() => handler.stats().streams).toBe(0)
    const messages = messagesIn(await response.text())
    const told = messages.flatMap(({ method, params }) =>
      method === 'notifications/progress' ? [(params as Json)['message'] as string] : [],
    )
    expect(told.length).toBeLessThan(4)
    expect(Math.max(...told.map(({ length }) => length))).toBeLessThanOrEqual(4_096)
    expect(messages.at(-1)).toMatchObject({ result: { content: [{ text: 'Done' }] } })
  })

  it('gets large answers whole, many at a time', async () => {
    const text = 'Zürich €'.repeat(40_000)
    const { ask, say } = sceneOf(() => text)
    const { result } = await say('Go')
    expect(result).toMatchObject({ content: [{ text }] })
    const meta = result['_meta'] as { readonly 'a2a-tasks.dev/task': Json }
    const { taskId } = meta['a2a-tasks.dev/task']
    const replies = await Promise.all(Array.from({ length: 20 }, () => ask('tasks/get', { taskId }, TASKS)))
    for (const reply of replies) expect(reply.result).toMatchObject({ result: { content: [{ text }] } })
  })
})
