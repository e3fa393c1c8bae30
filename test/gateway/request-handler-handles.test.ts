/** Tasks that outlive the process of their gateway: handles in messages over HTTP. */
import { restoreTasks } from 'a2a-tasks'
import { A2AClient, type RemoteEvent } from 'a2a-tasks/client'
import { describe, expect, it } from 'vitest'
import type { TaskRef, TaskUpdate } from '../../src/gateway/provider.js'
import { collect, gate, rejection } from '../server/interop/support/agent.js'
import { gatewayOf, serveGateway, type ServeOptions, type TestAgent } from './support/request-handler.js'

const SECRET = 'one secret for all processes of a gateway'

/** What a service keeps, whichever process of a gateway asks for it. */
class Service {
  readonly runs = new Map<string, TaskUpdate>()
  readonly canceled: TaskRef[] = []
  readonly answers: [text: string, ref: TaskRef][] = []
  asked = gate()

  readonly agent: TestAgent = {
    run: ({ id, text, ref }) => {
      if (ref !== undefined) this.answers.push([text, ref])
      return { ref: ref ?? { run: id }, state: 'working' }
    },
    getTask: ({ run }) => {
      this.asked.open()
      return this.runs.get(run as string) ?? { state: 'working' }
    },
    cancelTask: (ref) => {
      this.canceled.push(ref)
      return { state: 'canceled' }
    },
  }

  end(run: string): void {
    this.runs.set(run, {
      state: 'completed',
      artifacts: [{ artifactId: 'a', parts: [{ text: 'At last' }] }],
    })
  }
}

/** A process with the gateway, and a client of it. */
async function start(service: Service, handling: ServeOptions = {}, secret = SECRET) {
  const made = gatewayOf({ worker: service.agent }, { handleSecret: secret, config: { pollIntervalMs: 1 } })
  const { url, errors: failures } = await serveGateway(made.gateway, { announceHandles: true, ...handling })
  return { ...made, url, failures, client: await A2AClient.connect(url) }
}

type Process = Awaited<ReturnType<typeof start>>

/** A task that the service works on, and the handle that its client received. */
async function begin(client: A2AClient): Promise<{ id: string; contextId: string; handle: string }> {
  const events = client.stream('worker')
  for await (const event of events) {
    const handle = handleIn(event)
    if (handle !== undefined && event.type === 'status') {
      return { id: event.taskId, contextId: event.contextId ?? '', handle }
    }
  }
  throw new Error('No handle came')
}

function handleIn(event: RemoteEvent): string | undefined {
  const handle = event.type === 'status' ? event.message?.metadata?.['taskHandle'] : undefined
  return typeof handle === 'string' ? handle : undefined
}

const withHandle = (taskHandle: string) => ({ parts: [{ text: 'How is it?' }], metadata: { taskHandle } })

/** The process ends; its services continue. */
async function crash({ gateway }: Process): Promise<void> {
  await gateway.close({ graceMs: 1 })
}

describe('a handle', () => {
  it('is announced when the service has the task, and is sealed', async () => {
    const service = new Service()
    const one = await start(service)
    const { id, handle } = await begin(one.client)
    expect(handle).toMatch(/^a2ah1\.[\w-]+$/)
    expect(Buffer.from(handle.slice(6), 'base64url').toString('latin1')).not.toContain(id)
    service.end(id)
  })

  it.each(['at once', 'later'])('is announced with the question that the agent asks %s', async (when) => {
    const [working, waiting] = [gate(), gate()]
    const { gateway } = gatewayOf({
      worker: async function* () {
        if (when === 'later') {
          yield { ref: { at: 1 }, state: 'working' }
          await working.opened
        }
        const parts = [{ text: 'Which?' }, { data: [1, 2] }]
        yield { ref: { at: 1 }, state: 'input-required', message: { parts } }
      },
    })
    gateway.tasks.on('task:updated', ({ message, state }) => {
      if (typeof message !== 'object' || message.metadata === undefined) return
      if (state === 'working') working.open()
      else waiting.open()
    })
    const { url } = await serveGateway(gateway, { announceHandles: true })
    const client = await A2AClient.connect(url)
    const asked = await client.run('worker')
    if (asked.type !== 'input-required') throw new Error(asked.text)
    await waiting.opened
    const { state, message, messages } = await client.getTask(asked.task.id)
    const question = {
      messageId: asked.task.message?.messageId,
      parts: [{ text: 'Which?' }, { data: [1, 2] }],
    }
    const metadata = { taskHandle: expect.stringMatching(/^a2ah1\./) as unknown }
    expect([state, message]).toMatchObject(['input-required', { ...question, metadata }])
    // In the conversation it is as the agent has asked it.
    expect(messages).toMatchObject([{ role: 'user' }, question])
    expect(messages[1]).not.toHaveProperty('metadata')
  })

  it('is not announced without announceHandles', async () => {
    const service = new Service()
    const { client, gateway } = await start(service, { announceHandles: false })
    const events = collect(client.stream('worker'))
    await service.asked.opened
    const [task] = gateway.tasks.listTasks()
    service.end(task?.id ?? '')
    expect((await events).map(handleIn).filter(Boolean)).toEqual([])
  })

  it('follows the task in another process with the same secret, to its end', async () => {
    const service = new Service()
    const one = await start(service)
    const { id, handle } = await begin(one.client)
    await crash(one)
    const other = await start(service)
    service.end(id)
    const result = await other.client.run(withHandle(handle))
    expect(result).toMatchObject({ type: 'completed', text: 'At last' })
    // It is a task of that process, about the same run of the service: the handle's own id stays with the gateway's resume().
    expect(result.task?.id).not.toBe(id)
  })

  it('cancels the run of the other process', async () => {
    const service = new Service()
    const one = await start(service)
    const { id, handle } = await begin(one.client)
    await crash(one)
    service.asked = gate()
    const { client, gateway } = await start(service)
    const sent = await client.send(withHandle(handle), { returnImmediately: true })
    if (sent.type !== 'task') throw new Error('There is no task')
    await service.asked.opened
    expect((await client.cancelTask(sent.task.id)).state).toBe('canceled')
    await gateway.close()
    expect(service.canceled).toEqual([{ run: id }])
  })

  it.each([
    ['made with another secret', 'another secret for another gateway!!', (handle: string) => handle],
    [
      'changed by one letter',
      SECRET,
      (handle: string) => `${handle.slice(0, 40)}${handle[40] === 'A' ? 'B' : 'A'}${handle.slice(41)}`,
    ],
    ['that is none', SECRET, () => 'a2ah1.bm90aGluZw'],
    ['that does not even look like one', SECRET, () => 'nothing'],
  ])('%s is of no task, and makes none', async (_, secret, change) => {
    const service = new Service()
    const one = await start(service)
    const { id, handle } = await begin(one.client)
    const other = await start(service, {}, secret)
    expect(await rejection(() => other.client.send(withHandle(change(handle))))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    expect(other.gateway.tasks.size()).toBe(0)
    service.end(id)
  })

  it('of an agent that is busy, gone, or of another kind now, makes no task', async () => {
    const service = new Service()
    const one = await start(service)
    const { id, handle } = await begin(one.client)
    const { client, gateway } = await start(service)
    gateway.registry.updateStatus('worker', 'offline')
    expect(await rejection(() => client.send(withHandle(handle)))).toMatchObject({ code: 'AGENT_BUSY' })
    gateway.registry.unregister('worker')
    expect(await rejection(() => client.send(withHandle(handle)))).toMatchObject({ code: 'AGENT_NOT_FOUND' })
    // What it holds means nothing to a service of another kind.
    const endpoint = { url: 'https://service.test' }
    gateway.registry.register({ id: 'worker', provider: 'other', capabilities: ['work'], endpoint })
    expect(await rejection(() => client.send(withHandle(handle)))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(gateway.tasks.size()).toBe(0)
    service.end(id)
  })
})

describe('a handle of a task of one owner', () => {
  const authenticate = (request: Request) => {
    const id = request.headers.get('authorization')
    return id === null ? null : { id }
  }
  const as = (url: string, name: string, tenant?: string) =>
    A2AClient.connect(url, { headers: { authorization: name } }).then((client) => ({ client, tenant }))

  it('works for its owner, and finds no task for another caller', async () => {
    const service = new Service()
    const one = await start(service, { authenticate })
    const { client: ann } = await as(one.url, 'ann')
    const { id, handle } = await begin(ann)
    await crash(one)
    const other = await start(service, { authenticate })
    const { client: ben } = await as(other.url, 'ben')
    const refused = await rejection(() => ben.send(withHandle(handle)))
    expect(refused).toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(String(refused)).not.toContain(id)
    expect(other.gateway.tasks.size()).toBe(0)
    service.end(id)
    const { client: again } = await as(other.url, 'ann')
    expect(await again.run(withHandle(handle))).toMatchObject({ type: 'completed', text: 'At last' })
  })

  it('finds no task for callers without an owner, and the reverse', async () => {
    const service = new Service()
    const [known, open] = [await start(service, { authenticate }), await start(service)]
    const { client: ann } = await as(known.url, 'ann')
    const [hers, unowned] = [await begin(ann), await begin(open.client)]
    expect(await rejection(() => open.client.send(withHandle(hers.handle)))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    expect(await rejection(() => ann.send(withHandle(unowned.handle)))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    for (const { id } of [hers, unowned]) service.end(id)
  })
})

describe('a task that was stored waits', () => {
  /** The task of a process that is gone, in the manager of the next. */
  async function restored(service: Service, status: 'online' | 'offline') {
    const one = await start(service)
    const { id, contextId, handle } = await begin(one.client)
    one.gateway.tasks.patchTask(id, { state: 'input-required' })
    const task = one.gateway.tasks.getTask(id)
    await crash(one)
    const next = await start(service)
    restoreTasks(next.gateway.tasks, task === null ? [] : [task])
    next.gateway.registry.updateStatus('worker', status)
    return { ...next, id, contextId, handle }
  }

  it('for its agent to be free again, which its handle finds', async () => {
    const service = new Service()
    const { client, gateway, id, handle } = await restored(service, 'offline')
    const busy = await client.run(withHandle(handle), { taskId: id })
    expect(busy).toMatchObject({ type: 'input-required', task: { id } })
    gateway.registry.updateStatus('worker', 'online')
    service.end(id)
    const result = await client.run(withHandle(handle), { taskId: id })
    expect(result).toMatchObject({ type: 'completed', text: 'At last', task: { id } })
  })

  it('for its answer, which reaches the service where the handle says', async () => {
    const service = new Service()
    const { client, gateway, id, handle } = await restored(service, 'online')
    service.end(id)
    const input = { parts: [{ text: 'The second' }], metadata: { taskHandle: handle } }
    expect(await client.run(input, { taskId: id })).toMatchObject({ type: 'completed', task: { id } })
    expect(service.answers).toEqual([['The second', { run: id }]])
    expect(gateway.agentOf(id)).toBe('worker')
  })

  it('for any agent that can do it, where there is no handle', async () => {
    const service = new Service()
    const { client, gateway, id } = await restored(service, 'offline')
    const refused = await client.run('worker', { taskId: id, metadata: { agentId: 'worker' } })
    expect(refused).toMatchObject({ type: 'input-required', task: { id } })
    gateway.registry.updateStatus('worker', 'online')
    service.end(id)
    expect(await client.run('worker', { taskId: id })).toMatchObject({ type: 'completed', task: { id } })
  })
})
