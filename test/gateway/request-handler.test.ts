/** A gateway as an agent, over HTTP, by the clients of A2A 1.0. */
import { A2AClient } from 'a2a-tasks/client'
import { describe, expect, it } from 'vitest'
import { SERVICE_FAILED } from '../../src/gateway/turns/turn.js'
import { gatewayRequestHandler } from '../../src/gateway/request-handler.js'
import { providerError } from '../../src/gateway/providers/shared/service.js'
import { connect, MODERN_LINES, say, taskOf, textOf as textOfParts } from '../server/interop/peers.js'
import { collect, gate, serve } from '../server/interop/support/agent.js'
import { gatewayOf, scene, serveGateway, untilAborted } from './support/request-handler.js'

describe('a task', () => {
  it('is done by the agent, whose text is the result', async () => {
    const { client, gateway } = await scene({ echo: ({ text }) => `You said: ${text}` })
    const result = await client.run('echo this')
    expect(result).toMatchObject({ ok: true, type: 'completed', text: 'You said: echo this' })
    const [task] = gateway.tasks.listTasks()
    expect(task).toMatchObject({ state: 'completed', messages: [{ role: 'user' }] })
    expect(gateway.agentOf(task?.id ?? '')).toBe('echo')
  })

  it('streams what the agent says, as it says it', async () => {
    const read = gate()
    const { client } = await scene({
      poet: async function* () {
        yield 'Roses '
        await read.opened
        yield 'are red'
      },
    })
    const received: string[] = []
    for await (const event of client.stream('poet')) {
      if (event.type === 'artifact') {
        received.push(event.artifact.parts.map(({ text = '' }) => text).join(''))
        // The second chunk comes when the first has been read: nothing is kept until the end.
        read.open()
      } else received.push(event.type === 'status' ? event.state : event.type)
    }
    expect(received).toEqual(['task', 'working', 'Roses ', 'are red', 'completed'])
  })

  it('shows progress, and results of every kind', async () => {
    const { client } = await scene({
      builder: async function* () {
        yield await Promise.resolve({ state: 'working', progress: 0.5, message: 'Half of it' })
        yield { artifacts: [{ artifactId: 'plan', name: 'plan', parts: [{ data: { floors: 2 } }] }] }
        yield { state: 'completed', output: { floors: 2 } }
      },
    })
    const said: unknown[] = []
    const result = await client.run('builder', {
      onUpdate: ({ event }) => {
        if (event.type === 'status' && event.message) said.push(event.message)
      },
    })
    expect(said).toMatchObject([
      { parts: [{ text: 'Half of it' }], metadata: { progress: { current: 0.5, total: 1 } } },
    ])
    expect(result).toMatchObject({
      type: 'completed',
      task: {
        artifacts: [
          { artifactId: 'plan', name: 'plan' },
          { artifactId: 'output', parts: [{ data: { floors: 2 } }] },
        ],
      },
    })
  })

  it('that is canceled is canceled at the agent’s service', async () => {
    const [begun, aborted] = [gate(), gate<unknown>()]
    const canceled: unknown[] = []
    const { client, gateway } = await scene({
      worker: {
        run: async function* (_task, { signal }) {
          yield { ref: { run: 7 }, state: 'working' }
          signal.addEventListener('abort', () => aborted.open(signal.reason))
          begun.open()
          await untilAborted(signal)
        },
        getTask: () => ({ state: 'working' }),
        cancelTask: (ref) => {
          canceled.push(ref)
          return { state: 'canceled' }
        },
      },
    })
    const sent = await client.send('worker', { returnImmediately: true })
    if (sent.type !== 'task') throw new Error('There is no task')
    await begun.opened
    expect((await client.cancelTask(sent.task.id)).state).toBe('canceled')
    expect(await aborted.opened).toMatchObject({ code: 'TASK_CANCELED' })
    await gateway.close()
    expect(canceled).toEqual([{ run: 7 }])
  })

  it('asks, and its answer goes to the same place of the service', async () => {
    const refs: unknown[] = []
    const { client } = await scene({
      baker: async function* ({ text, ref }) {
        refs.push(ref)
        const question = 'How many rolls?'
        yield await Promise.resolve(
          ref === undefined
            ? { ref: { thread: 't-1' }, state: 'input-required', message: question }
            : `Baked ${text}`,
        )
      },
    })
    const asked = await client.run('baker, some rolls')
    expect(asked).toMatchObject({ type: 'input-required', text: 'How many rolls?' })
    if (asked.type !== 'input-required') return
    const answered = await client.run('six', { taskId: asked.task.id })
    expect(answered).toMatchObject({ type: 'completed', text: 'Baked six', task: { id: asked.task.id } })
    expect(refs).toEqual([undefined, { thread: 't-1' }])
  })

  it('continues with the conversation of the task before it in its context', async () => {
    const previous: unknown[] = []
    const { client } = await scene({
      guide: (task) => {
        previous.push(task.previous)
        return { ref: { thread: previous.length }, state: 'completed' }
      },
    })
    const first = await client.run('guide me')
    if (first.type !== 'completed') throw new Error(first.text)
    await client.run('guide me on', { contextId: first.task.contextId })
    expect(previous).toEqual([undefined, { thread: 1 }])
  })
})

describe('a service that fails', () => {
  it.each([true, false])('fails the task with a fixed text; retryable: %s', async (retryable) => {
    const secret = 'https://internal.example/runs?key=s3cret answered HTTP 500'
    const { client, gateway, errors } = await scene({
      broken: (_task, { agent }) => {
        throw providerError('broken', agent, secret, { retryable })
      },
    })
    const result = await client.run('broken')
    expect(result).toMatchObject({ ok: false, type: 'failed', text: SERVICE_FAILED })
    const task = 'task' in result ? result.task : undefined
    expect(task?.message?.metadata).toEqual({ code: 'PROVIDER_ERROR', retryable })
    expect(JSON.stringify(gateway.tasks.listTasks())).not.toContain('s3cret')
    expect(errors).toMatchObject([{ code: 'PROVIDER_ERROR', data: { reason: secret } }])
  })

  it('is not the same as a task that has failed there, which says why', async () => {
    const { client, errors } = await scene({
      strict: () => ({
        state: 'failed',
        message: 'The text is too long',
        failure: { code: 'context_length_exceeded', retryable: false },
      }),
    })
    const result = await client.run('strict')
    expect(result).toMatchObject({ type: 'failed', text: 'The text is too long' })
    const task = 'task' in result ? result.task : undefined
    expect(task?.message?.metadata).toEqual({ code: 'context_length_exceeded', retryable: false })
    expect(errors).toEqual([])
  })

  it('breaks a stream, and the task is followed by asking', async () => {
    const { client, errors } = await scene(
      {
        shaky: {
          run: async function* (_task, { agent }) {
            const chunk = { artifactId: 'a', parts: [{ text: 'So f' }] }
            yield await Promise.resolve({ ref: { run: 1 }, chunk })
            throw providerError('shaky', agent, 'The connection broke', { retryable: true })
          },
          getTask: () => ({
            state: 'completed',
            artifacts: [{ artifactId: 'a', parts: [{ text: 'So far, so good' }] }],
          }),
        },
      },
      { config: { pollIntervalMs: 1 } },
    )
    expect(await client.run('shaky')).toMatchObject({ type: 'completed', text: 'So far, so good' })
    expect(errors).toMatchObject([{ data: { reason: 'The connection broke' } }])
  })
})

describe.each(MODERN_LINES)('the official SDK over $binding', (line) => {
  it('sends, streams, answers and cancels', async () => {
    const aborted = gate()
    const { gateway } = gatewayOf({
      poet: async function* () {
        yield await Promise.resolve('O ')
        yield 'gateway!'
      },
      baker: ({ text, ref }) =>
        ref === undefined ? { ref: { at: 1 }, state: 'input-required', message: 'How many?' } : text,
      idler: (_task, { signal }) => {
        signal.addEventListener('abort', () => aborted.open())
        return untilAborted(signal)
      },
    })
    const peer = await connect(line, (await serveGateway(gateway)).url)

    const sent = taskOf(await peer.send(say('poet')))
    expect([sent.status.state, textOfParts(sent.artifacts?.[0]?.parts)]).toEqual([
      'TASK_STATE_COMPLETED',
      'O gateway!',
    ])
    const events = await collect(peer.stream(say('poet')))
    expect(events.flatMap(({ artifactUpdate }) => textOfParts(artifactUpdate?.artifact.parts) || [])).toEqual(
      ['O ', 'gateway!'],
    )

    const asked = taskOf(await peer.send(say('baker')))
    expect(asked.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'How many?' }] },
    })
    const answered = taskOf(await peer.send(say('six', { taskId: asked.id, contextId: asked.contextId })))
    expect([answered.id, answered.status.state, textOfParts(answered.artifacts?.[0]?.parts)]).toEqual([
      asked.id,
      'TASK_STATE_COMPLETED',
      'six',
    ])

    const idle = taskOf(await peer.send(say('idler'), { returnImmediately: true }))
    expect((await peer.cancel(idle.id)).status.state).toBe('TASK_STATE_CANCELED')
    await aborted.opened
  })
})

it('a handler without the tasks of the gateway is refused with what to pass', async () => {
  const { gateway } = gatewayOf({ echo: ({ text }) => text })
  const { url, handler, errors } = await serve({ execute: gatewayRequestHandler(gateway) })
  const result = await (await A2AClient.connect(url)).run('echo')
  expect(result).toMatchObject({ type: 'failed', text: SERVICE_FAILED })
  expect(errors.splice(0).map(String)).toEqual([
    "TypeError: The task is not in the gateway's tasks: pass createRequestHandler({ tasks: gateway.tasks })",
  ])
  expect([gateway.loadOf('echo'), gateway.tasks.size(), handler.tasks.size()]).toEqual([0, 0, 1])
})
