import type { StreamResponse } from 'a2a-tasks/schemas'
import { describe, expect, test } from 'vitest'
import { connect, LINES, say, taskOf, textOf, type Peer } from './peers.js'
import { collect, gate, serve } from './support/agent.js'

const ENDED = ['TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_REJECTED']

async function poll(peer: Peer, id: string): ReturnType<Peer['get']> {
  for (;;) {
    const task = await peer.get(id)
    if (ENDED.includes(task.status.state)) return task
  }
}

/** The fields of an event that identify its position in the run. */
function summaryOf(event: StreamResponse): string {
  const { task, message, statusUpdate, artifactUpdate } = event
  if (task !== undefined) return `task ${task.status.state}`
  if (message !== undefined) return `message ${textOf(message.parts)}`
  if (statusUpdate !== undefined) {
    const { state, message: said } = statusUpdate.status
    return `status ${state}${said === undefined ? '' : ` ${textOf(said.parts)}`}`
  }
  return `artifact ${artifactUpdate.append ? '+' : ''}${textOf(artifactUpdate.artifact.parts)}`
}

async function summariesOf(stream: AsyncIterable<StreamResponse>): Promise<string[]> {
  return (await collect(stream)).map(summaryOf)
}

async function next(stream: AsyncGenerator<StreamResponse>): Promise<StreamResponse> {
  const result = await stream.next()
  if (result.done) throw new Error('The stream has ended')
  return result.value
}

describe.each(LINES)('SDK $sdk, A2A $speaks over $binding', (line) => {
  // The SDKs drop `append` where they read the ProtoJSON of 0.3.
  const more = line.speaks === '0.3' && line.binding === 'HTTP+JSON' ? '' : '+'

  test('it speaks as the card says', async () => {
    const { url } = await serve({ execute: () => 'done' })
    expect((await connect(line, url)).protocol).toBe(`${line.binding} ${line.speaks}`)
  })

  test('a message is answered with the task when it has ended', async () => {
    const { url } = await serve({ execute: (run) => `You said: ${run.text}` })
    const peer = await connect(line, url)
    const task = taskOf(await peer.send(say('hi')))
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(task.artifacts?.map(({ parts }) => textOf(parts))).toEqual(['You said: hi'])
    expect(task.history?.map(({ role, parts }) => [role, textOf(parts)])).toEqual([['ROLE_USER', 'hi']])
    expect(await peer.get(task.id)).toEqual(task)
  })

  test('without waiting, a task comes back at once, and is polled to its end', async () => {
    const go = gate()
    const { url } = await serve({
      async execute() {
        await go.opened
        return 'late'
      },
    })
    const peer = await connect(line, url)
    const begun = taskOf(await peer.send(say('hi'), { returnImmediately: true }))
    expect(begun.status.state).toBe('TASK_STATE_WORKING')
    expect((await peer.get(begun.id)).status.state).toBe('TASK_STATE_WORKING')
    go.open()
    const ended = await poll(peer, begun.id)
    expect(ended.status.state).toBe('TASK_STATE_COMPLETED')
    expect(textOf(ended.artifacts?.[0]?.parts)).toBe('late')
  })

  test('a reply is a message and no task', async () => {
    const { url, handler } = await serve({ execute: (run) => run.reply(`Hello ${run.text}`) })
    const peer = await connect(line, url)
    const sent = await peer.send(say('you'))
    expect(sent.message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'Hello you' }] })
    const [only, ...others] = await collect(peer.stream(say('two')))
    expect(only?.message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'Hello two' }] })
    expect(others).toEqual([])
    expect(handler.tasks.countTasks()).toBe(0)
  })

  test('a stream reports the task, then each change, and ends with it', async () => {
    const { url } = await serve({
      execute(run) {
        run.update('thinking')
        const artifactId = run.artifact('one ')
        run.artifact({ artifactId, parts: [{ text: 'two ' }] })
        run.artifact({ artifactId, parts: [{ text: 'three' }] }, { lastChunk: true })
        run.complete('done')
      },
    })
    const peer = await connect(line, url)
    const events = await collect(peer.stream(say('go')))
    expect(events.map(summaryOf)).toEqual([
      'task TASK_STATE_SUBMITTED',
      'status TASK_STATE_WORKING',
      'status TASK_STATE_WORKING thinking',
      'artifact one ',
      `artifact ${more}two `,
      `artifact ${more}three`,
      'status TASK_STATE_COMPLETED done',
    ])
    const { id, contextId } = taskOf(events[0])
    for (const { statusUpdate, artifactUpdate } of events.slice(1)) {
      expect(statusUpdate ?? artifactUpdate).toMatchObject({ taskId: id, contextId })
    }
    expect(events.at(-2)?.artifactUpdate?.lastChunk).toBe(true)
    const task = await peer.get(id)
    expect(task.artifacts?.map(({ parts }) => textOf(parts))).toEqual(['one two three'])
  })

  test('texts that the agent yields are chunks of one artifact', async () => {
    const { url } = await serve({
      async *execute() {
        yield await Promise.resolve('a')
        yield 'b'
      },
    })
    const peer = await connect(line, url)
    expect(await summariesOf(peer.stream(say('go')))).toEqual([
      'task TASK_STATE_SUBMITTED',
      'status TASK_STATE_WORKING',
      'artifact a',
      `artifact ${more}b`,
      'status TASK_STATE_COMPLETED',
    ])
  })

  test('a second client takes part in a task that runs', async () => {
    const go = gate()
    const { url } = await serve({
      async execute(run) {
        run.artifact({ artifactId: 'a', parts: [{ text: 'before' }] })
        await go.opened
        run.artifact({ artifactId: 'a', parts: [{ text: ' after' }] })
        run.complete()
      },
    })
    const first = (await connect(line, url)).stream(say('go'))
    const { id } = taskOf(await next(first))
    // The second client comes when the first has seen what there is.
    await next(first)
    await next(first)
    const peer = await connect(line, url)
    const second = peer.subscribe(id)
    const snapshot = taskOf(await next(second))
    expect(snapshot.status.state).toBe('TASK_STATE_WORKING')
    expect(textOf(snapshot.artifacts?.[0]?.parts)).toBe('before')
    go.open()
    const rest = [`artifact ${more} after`, 'status TASK_STATE_COMPLETED']
    expect(await summariesOf(second)).toEqual(rest)
    expect(await summariesOf(first)).toEqual(rest)
  })

  test('a client that leaves its stream leaves the task alone', async () => {
    const go = gate()
    const { url } = await serve({
      async execute(run) {
        run.start()
        await go.opened
        return 'stored'
      },
    })
    const peer = await connect(line, url)
    let id = ''
    for await (const event of peer.stream(say('go'))) {
      id = taskOf(event).id
      break
    }
    go.open()
    expect(textOf((await poll(peer, id)).artifacts?.[0]?.parts)).toBe('stored')
  })

  test('a canceled task is canceled, and its signal aborts', async () => {
    const aborted = gate<unknown>()
    const { url } = await serve({
      async execute(run) {
        run.signal.addEventListener('abort', () => aborted.open(run.signal.reason))
        run.start()
        await aborted.opened
        run.signal.throwIfAborted()
      },
    })
    const peer = await connect(line, url)
    const { id } = taskOf(await peer.send(say('go'), { returnImmediately: true }))
    const watched = peer.subscribe(id)
    await next(watched)
    expect((await peer.cancel(id)).status.state).toBe('TASK_STATE_CANCELED')
    expect(await aborted.opened).toMatchObject({ code: 'TASK_CANCELED' })
    expect(await summariesOf(watched)).toEqual(['status TASK_STATE_CANCELED'])
    // Canceling twice is canceling once.
    expect((await peer.cancel(id)).status.state).toBe('TASK_STATE_CANCELED')
  })

  test('a question is answered in the same task', async () => {
    const { url } = await serve({
      async execute(run) {
        const answer = await run.requireInput('Which city?')
        run.artifact(`Sunny in ${answer.parts[0]?.text ?? ''}`)
        run.complete()
      },
    })
    const peer = await connect(line, url)
    const asked = taskOf(await peer.send(say('weather')))
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(textOf(asked.status.message?.parts)).toBe('Which city?')
    const { id: taskId, contextId } = asked
    const ended = taskOf(await peer.send(say('Rome', { taskId, contextId })))
    expect(ended.id).toBe(taskId)
    expect(ended.status.state).toBe('TASK_STATE_COMPLETED')
    expect(textOf(ended.artifacts?.[0]?.parts)).toBe('Sunny in Rome')
    expect(ended.history?.map(({ parts }) => textOf(parts))).toEqual(['weather', 'Which city?', 'Rome'])
  })

  test('a stream ends at a question, and the answer is streamed from the task on', async () => {
    const { url } = await serve({
      async execute(run) {
        await run.requireInput('Sure?')
      },
    })
    const peer = await connect(line, url)
    const events = await collect(peer.stream(say('go')))
    expect(events.map(summaryOf).slice(-1)).toEqual(['status TASK_STATE_INPUT_REQUIRED Sure?'])
    // Without the context, it is that of the task.
    const answered = await summariesOf(peer.stream(say('yes', { taskId: taskOf(events[0]).id })))
    expect(answered[0]).toMatch(/^task /)
    expect(answered.at(-1)).toBe('status TASK_STATE_COMPLETED')
    expect(answered).not.toContain('status TASK_STATE_INPUT_REQUIRED Sure?')
  })

  test('each turn is another run where the agent ends its turn with the question', async () => {
    const { url } = await serve({
      execute(run) {
        if (run.messages.length > 2) return `${run.messages.length} messages`
        void run.requireInput('More?').catch(() => undefined)
        return undefined
      },
    })
    const peer = await connect(line, url)
    const { id: taskId, contextId } = taskOf(await peer.send(say('one')))
    const ended = taskOf(await peer.send(say('two', { taskId, contextId })))
    expect(ended.status.state).toBe('TASK_STATE_COMPLETED')
    expect(ended.history?.map(({ parts }) => textOf(parts))).toEqual(['one', 'More?', 'two'])
    expect(textOf(ended.artifacts?.[0]?.parts)).toBe('3 messages')
  })

  test('a task waits for credentials, and its stream stays open', async () => {
    const { url } = await serve({
      async execute(run) {
        await run.requireAuth('Log in, please')
        run.complete()
      },
    })
    const peer = await connect(line, url)
    const asked = taskOf(await peer.send(say('go')))
    expect(asked.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
    expect(textOf(asked.status.message?.parts)).toBe('Log in, please')
    const watched = peer.subscribe(asked.id)
    await next(watched)
    const ended = taskOf(await peer.send(say('I did', { taskId: asked.id })))
    expect(ended.status.state).toBe('TASK_STATE_COMPLETED')
    expect(await summariesOf(watched)).toEqual(['status TASK_STATE_WORKING', 'status TASK_STATE_COMPLETED'])
  })

  test('an error of the agent is not shown to the client', async () => {
    const { url, errors } = await serve({
      execute() {
        throw new Error('connect postgres://admin:s3cret@db')
      },
    })
    const peer = await connect(line, url)
    const failed = taskOf(await peer.send(say('go')))
    expect(failed.status.state).toBe('TASK_STATE_FAILED')
    expect(textOf(failed.status.message?.parts)).toBe('The agent could not finish this task')
    const events = await collect(peer.stream(say('go')))
    expect(events.map(summaryOf).at(-1)).toBe('status TASK_STATE_FAILED The agent could not finish this task')
    expect(JSON.stringify([failed, events])).not.toContain('s3cret')
    expect(errors.splice(0)).toHaveLength(2)
  })

  test('an agent may refuse, with what it says', async () => {
    const { url } = await serve({
      execute(run) {
        run.reject('Not my trade')
      },
    })
    const task = taskOf(await (await connect(line, url)).send(say('go')))
    expect(task.status.state).toBe('TASK_STATE_REJECTED')
    expect(textOf(task.status.message?.parts)).toBe('Not my trade')
  })

  test('a client has as much of the conversation as it asks for', async () => {
    const { url } = await serve({
      async execute(run) {
        for (const prompt of ['two?', 'four?']) await run.requireInput(prompt)
      },
    })
    const peer = await connect(line, url)
    const { id: taskId } = taskOf(await peer.send(say('one')))
    await peer.send(say('three', { taskId }))
    const ended = taskOf(await peer.send(say('five', { taskId }), { historyLength: 2 }))
    expect(ended.history?.map(({ parts }) => textOf(parts))).toEqual(['four?', 'five'])
    expect((await peer.get(taskId, 1)).history?.map(({ parts }) => textOf(parts))).toEqual(['five'])
    expect((await peer.get(taskId)).history).toHaveLength(5)
  })
})
