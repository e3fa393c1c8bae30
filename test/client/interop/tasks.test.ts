/** Operations on tasks, with each peer. */
import type { Part, RemoteEvent, RemoteTask, SendResult } from './types.js'
import { describe, expect } from 'vitest'
import { asker, echo, ender, gate, hesitant, mirror, replier, storyteller, textOf, worker } from './agents.js'
import { PEERS } from './peers.js'
import { clientOf, collect, connect, feature } from './support/agent.js'

function taskOf(given: SendResult | RemoteEvent | undefined): RemoteTask {
  if (given?.type !== 'task') throw new Error(`There is no task: ${JSON.stringify(given)}`)
  return given.task
}

async function next(stream: AsyncGenerator<RemoteEvent>): Promise<RemoteEvent> {
  const result = await stream.next()
  if (result.done) throw new Error('The stream has ended')
  return result.value
}

function textsOf({ artifacts }: RemoteTask): string[] {
  return artifacts.map(({ parts }) => textOf(parts))
}

/** The fields of an event that identify its position in the run. */
function summaryOf(event: RemoteEvent): string {
  if (event.type === 'task') return `task ${event.task.state}`
  if (event.type === 'message') return `message ${textOf(event.message.parts)}`
  if (event.type === 'artifact') return `artifact ${event.append ? '+' : ''}${textOf(event.artifact.parts)}`
  return `status ${event.state} ${textOf(event.message?.parts)}`.trim()
}

describe.each(PEERS)('$name', (peer) => {
  feature(peer, 'a message is answered with a task', async () => {
    const client = await connect(peer, { agent: echo })
    const task = taskOf(await client.send('hi'))
    expect(task).toMatchObject({ state: 'completed', metadata: {} })
    expect(textsOf(task)).toEqual(['You said: hi'])
    expect(task.messages.map(({ role, parts }) => [role, textOf(parts)])).toEqual([['user', 'hi']])
    expect(Date.parse(task.updatedAt ?? '')).not.toBeNaN()
    expect(await client.getTask(task.id, { historyLength: 5 })).toEqual(task)
    expect(client.interface).toMatchObject({ protocolBinding: peer.binding })
  })

  feature(peer, 'a message is answered with a message', async () => {
    const client = await connect(peer, { agent: replier })
    const sent = await client.send('you')
    expect(sent).toMatchObject({
      type: 'message',
      message: { role: 'agent', parts: [{ text: 'Hello you' }] },
    })
  })

  feature(peer, 'a task that works comes back at once', async () => {
    const go = gate()
    const client = await connect(peer, { agent: hesitant(go) })
    const { id, state } = taskOf(await client.send('hi', { returnImmediately: true }))
    expect(['submitted', 'working']).toContain(state)
    expect((await client.getTask(id)).state).toBe('working')
    go.open()
    let task = await client.getTask(id)
    while (task.state !== 'completed') task = await client.getTask(id)
    expect(textsOf(task)).toEqual(['before after'])
  })

  feature(peer, 'a stream has every kind of event', async () => {
    const client = await connect(peer, { agent: storyteller })
    const events = await collect(client.stream('go'))
    expect(events.map(summaryOf)).toEqual([
      'task submitted',
      'status working',
      'status working thinking',
      'artifact one ',
      'artifact +two ',
      'artifact +three',
      'status completed done',
    ])
    const { id, contextId } = taskOf(events[0])
    for (const event of events.slice(1)) expect(event).toMatchObject({ taskId: id, contextId })
    expect(events.flatMap((event) => (event.type === 'artifact' ? [event.lastChunk] : []))).toEqual([
      false,
      false,
      true,
    ])
    expect(events[3]).toMatchObject({ artifact: { artifactId: 'story', name: 'Story' } })
    expect(textsOf(await client.getTask(id))).toEqual(['one two three'])
  })

  feature(peer, 'a stream of a reply', async () => {
    const client = await connect(peer, { agent: replier })
    expect((await collect(client.stream('you'))).map(summaryOf)).toEqual(['message Hello you'])
  })

  feature(peer, 'a stream that is left', async () => {
    const go = gate()
    const client = await connect(peer, { agent: hesitant(go) })
    let id = ''
    for await (const event of client.stream('go')) {
      id = taskOf(event).id
      break
    }
    go.open()
    // Leaving ends the stream, not the task.
    let task = await client.getTask(id)
    while (task.state !== 'completed') task = await client.getTask(id)
    expect(textsOf(task)).toEqual(['before after'])
  })

  feature(peer, 'getTask with historyLength', async (isPartial) => {
    const client = await connect(peer, { agent: asker })
    const { id, contextId } = taskOf(await client.send('one'))
    await client.send('two', { taskId: id, ...(contextId !== undefined && { contextId }) })
    const texts = async (options: { historyLength?: number }): Promise<string[]> =>
      (await client.getTask(id, options)).messages.map(({ parts }) => textOf(parts))
    expect(await texts({ historyLength: 10 })).toEqual(['one', 'Which city?', 'two'])
    expect(await texts({ historyLength: 1 })).toEqual(['two'])
    expect(await texts({})).toHaveLength(isPartial ? 0 : 3)
  })

  feature(peer, 'a task is canceled', async () => {
    const client = await connect(peer, { agent: worker })
    const { id } = taskOf(await client.send('go', { returnImmediately: true }))
    const watched = client.subscribe(id)
    expect(taskOf(await next(watched)).id).toBe(id)
    const canceled = await client.cancelTask(id)
    expect(canceled).toMatchObject({ id, state: 'canceled' })
    expect((await collect(watched)).map(summaryOf).at(-1)).toBe('status canceled')
    expect((await client.getTask(id)).state).toBe('canceled')
  })

  feature(peer, 'subscribe to a task that works', async () => {
    const go = gate()
    const served = await peer.serve({ agent: hesitant(go) })
    const first = clientOf(peer, served).stream('go')
    const { id } = taskOf(await next(first))
    // The second client comes when the first has seen what there is.
    await next(first)
    await next(first)
    const second = clientOf(peer, served).subscribe(id)
    const snapshot = taskOf(await next(second))
    expect(snapshot.state).toBe('working')
    expect(textsOf(snapshot)).toEqual(['before'])
    go.open()
    const rest = ['artifact + after', 'status completed']
    expect((await collect(first)).map(summaryOf)).toEqual(rest)
    expect((await collect(second)).map(summaryOf)).toEqual(rest)
  })

  feature(peer, 'a question is answered by taskId', async () => {
    const client = await connect(peer, { agent: asker })
    const asked = taskOf(await client.send('weather'))
    expect(asked.state).toBe('input-required')
    expect(textOf(asked.message?.parts)).toBe('Which city?')
    const { id: taskId, contextId } = asked
    const ended = taskOf(await client.send('Rome', { taskId, ...(contextId !== undefined && { contextId }) }))
    expect(ended).toMatchObject({ id: taskId, contextId, state: 'completed' })
    expect(textsOf(ended)).toEqual(['Sunny in Rome'])
  })

  feature(peer, 'a question is answered in a stream', async () => {
    const client = await connect(peer, { agent: asker })
    const asked = await collect(client.stream('weather'))
    expect(asked.map(summaryOf).at(-1)).toBe('status input-required Which city?')
    const answered = await collect(client.stream('Rome', { taskId: taskOf(asked[0]).id }))
    expect(answered.map(summaryOf).slice(-2)).toEqual(['artifact Sunny in Rome', 'status completed'])
  })

  feature(peer, 'states that end', async () => {
    for (const state of ['failed', 'rejected', 'auth-required'] as const) {
      const client = await connect(peer, { agent: ender(state, 'So it is') })
      const task = taskOf(await client.send('go'))
      expect(task.state).toBe(state)
      expect(task.message).toMatchObject({ role: 'agent', parts: [{ text: 'So it is' }] })
    }
  })

  feature(peer, 'parts of every kind, both ways', async (isPartial) => {
    const client = await connect(peer, { agent: mirror })
    const kept: Part[] = [
      { text: 'ä €' },
      { raw: '+/8=', mediaType: 'application/octet-stream' },
      { url: 'https://files.example/a?b=c', mediaType: 'image/png' },
      { data: { deep: { list: [1, 'two', null, true] } } },
    ]
    const lost: Part[] = [
      { text: 'ä €', metadata: { a: [1, null] } },
      { raw: '+/8=', filename: 'a.bin', mediaType: 'application/octet-stream' },
      { url: 'https://files.example/a?b=c', filename: 'a.png', mediaType: 'image/png' },
      // What 0.3 says in the metadata of the part.
      { data: [1, 'two'] },
    ]
    const parts = isPartial ? kept : [...kept, ...lost]
    const task = taskOf(await client.send({ parts }))
    expect(task.artifacts[0]).toMatchObject({
      ...{ artifactId: 'mirror', name: 'Mirror', description: 'What came', metadata: { seen: true } },
      parts,
    })
    const stored = task.messages.find(({ role }) => role === 'user')
    expect(stored?.parts).toMatchObject(parts)
  })

  feature(peer, 'metadata and referenceTaskIds arrive', async (isPartial) => {
    const client = await connect(peer, { agent: mirror })
    const { id } = taskOf(await client.send('first'))
    const task = taskOf(
      await client.send({
        parts: [{ text: 'second' }],
        messageId: 'message-2',
        metadata: { purpose: { deep: 1 } },
        referenceTaskIds: [id],
      }),
    )
    expect(task.artifacts[1]?.parts[0]?.data).toMatchObject({
      metadata: { purpose: { deep: 1 } },
      messageId: 'message-2',
      references: isPartial ? [] : [id],
    })
  })

  feature(peer, 'metadata of the request arrives', async (isPartial) => {
    const client = await connect(peer, { agent: mirror })
    const metadata = { trace: { id: 7, list: ['a', null] } }
    const task = taskOf(await client.send('go', { metadata }))
    const received = task.artifacts[1]?.parts[0]?.data
    if (isPartial) expect(received).not.toHaveProperty('requested')
    else expect(received).toMatchObject({ requested: metadata })
  })

  feature(peer, 'extensions in the header', async () => {
    const uri = 'https://extensions.example/v1'
    const served = await peer.serve({ agent: mirror, extensions: [uri] })
    const client = clientOf(peer, served, { extensions: [uri, 'https://extensions.example/unknown'] })
    const task = taskOf(await client.send('go'))
    expect(task.artifacts[1]?.parts[0]?.data).toMatchObject({ extensions: [uri] })
    const header = peer.version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions'
    expect(served.seen.at(-1)?.headers).toMatchObject({
      [header]: `${uri},https://extensions.example/unknown`,
      'a2a-version': peer.version,
    })
  })

  feature(peer, 'a tenant', async (isPartial) => {
    const client = await connect(peer, { agent: mirror, tenant: 'acme' })
    const task = taskOf(await client.send('go'))
    expect(task.artifacts[1]?.parts[0]?.data).toMatchObject({ tenant: isPartial ? '' : 'acme' })
    // Each operation names it: elsewhere the task would not be found.
    expect((await client.getTask(task.id)).id).toBe(task.id)
    if (!isPartial) expect((await client.listTasks()).tasks).toHaveLength(1)
  })
})
