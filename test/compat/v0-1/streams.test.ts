/** Streams of 0.1: what they tell adds up to what the task has. */
import type { JsonObject } from 'a2a-tasks/schemas'
import type { TaskStreamEvent } from 'a2a-tasks'
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { sourceOf } from '../../../src/server/streams/source.js'
import { TaskStream } from '../../../src/server/streams/task-stream.js'
import { setup, walk } from '../../support/manager.js'
import { agent } from '../support/agent.js'
import { gate, type TestAgent } from '../../server/spec/support/agent.js'
import { listen, result } from '../../server/dialects/support/dialects.js'

const say = (id: string, it: string) => ({
  id,
  message: { role: 'user', parts: [{ type: 'text', text: it }] },
})

interface Artifact {
  readonly index: number
  readonly append?: boolean
  readonly parts: readonly { readonly text?: string }[]
}

/** What events of a stream have. */
interface StreamEvent {
  readonly artifact?: Artifact
  readonly status?: { readonly state: string }
  readonly final?: boolean
}

/** A stream whose events the agent makes only when they are asked for: so its reader falls behind. */
async function stream(a: TestAgent, method: string, params: JsonObject) {
  const answer = await a.handler.dispatch({ jsonrpc: '2.0', id: 1, method, params })
  if (!(Symbol.asyncIterator in answer)) throw new Error('No stream')
  return {
    async next(): Promise<StreamEvent | undefined> {
      const { value } = (await answer.next()) as IteratorResult<JsonObject, undefined>
      return value?.['result'] as StreamEvent | undefined
    },
  }
}

/** The artifacts that a client assembles from the events, by index. */
class Collector {
  readonly texts: Record<number, string> = {}

  add({ artifact }: StreamEvent): void {
    if (artifact === undefined) return
    const { index, append } = artifact
    if (append && this.texts[index] === undefined) throw new Error(`Nothing to append to: ${index}`)
    this.texts[index] = (append ? (this.texts[index] ?? '') : '') + textOf(artifact)
  }
}

function textOf({ parts }: Artifact): string {
  return parts.map(({ text }) => text).join('')
}

async function held(a: TestAgent, id: string): Promise<Record<number, string>> {
  const task = await result(a, 'tasks/get', { id }, { headers: { 'a2a-version': '0.1' } })
  const artifacts = (task['artifacts'] ?? []) as unknown as Artifact[]
  return Object.fromEntries(artifacts.map((artifact) => [artifact.index, textOf(artifact)]))
}

function write(run: Run, artifactId: string, words: string): void {
  for (const word of words.split(' ')) run.artifact({ artifactId, parts: [{ text: `${word} ` }] })
}

describe('after a gap', () => {
  /** An agent that runs ahead of a reader who reads until `isThere`, and then the rest. */
  async function behind(
    execute: (run: Run, ahead: Promise<void>, more: Promise<void>) => ReturnType<Execute>,
    isThere: (event: StreamEvent) => boolean,
  ) {
    const [ahead, more] = [gate(), gate()]
    const a = agent((run) => execute(run, ahead.opened, more.opened), { tasks: { eventLogSize: 3 } })
    const events = await stream(a, 'tasks/sendSubscribe', say('t', 'go'))
    const collector = new Collector()
    const received: StreamEvent[] = []
    const read = async (): Promise<StreamEvent | undefined> => {
      const event = await events.next()
      if (event !== undefined) collector.add(event)
      if (event !== undefined) received.push(event)
      return event
    }
    for (let event = await read(); event !== undefined && !isThere(event);) event = await read()
    const before = received.length
    ahead.open()
    // The answer to `tasks/get` comes when the agent has had its turn.
    await held(a, 't')
    const atGap = await read()
    more.open()
    while ((await read()) !== undefined);
    return { a, collector, atGap, rest: received.slice(before) }
  }

  test('each artifact is sent whole, and grows from there', async () => {
    const { a, collector, rest } = await behind(
      async (run, ahead, more) => {
        write(run, 'a', 'one')
        await ahead
        write(run, 'a', 'two three four')
        write(run, 'b', 'never continued')
        await more
        write(run, 'a', 'five')
        run.complete()
      },
      ({ artifact }) => artifact !== undefined,
    )
    expect(rest).toMatchObject([
      { artifact: { index: 0, append: false, lastChunk: false } },
      { artifact: { index: 1, append: false, lastChunk: false } },
      { status: { state: 'working' }, final: false },
      { artifact: { index: 0, append: true } },
      { status: { state: 'completed' }, final: true },
    ])
    expect(collector.texts).toEqual({ 0: 'one two three four five ', 1: 'never continued ' })
    expect(collector.texts).toEqual(await held(a, 't'))
  })

  test('in which the task has ended, the artifacts come before the end', async () => {
    const { a, collector, rest } = await behind(
      async (run, ahead) => {
        write(run, 'a', 'one')
        await ahead
        write(run, 'a', 'two three four five')
        run.complete()
      },
      ({ artifact }) => artifact !== undefined,
    )
    expect(rest).toMatchObject([
      { artifact: { index: 0, append: false, lastChunk: true } },
      { status: { state: 'completed' }, final: true },
    ])
    expect(collector.texts).toEqual(await held(a, 't'))
  })

  test.each(['requireInput', 'requireAuth'] as const)(
    'in which the task waits, the stream ends: %s',
    async (ask) => {
      const { rest } = await behind(
        async (run, ahead) => {
          write(run, 'a', 'one')
          await ahead
          write(run, 'a', 'two three four five')
          await run[ask]('Who?')
        },
        ({ artifact }) => artifact !== undefined,
      )
      expect(rest).toMatchObject([{ artifact: {} }, { status: { state: 'input-required' }, final: true }])
    },
  )
})

describe('a stream that begins in the middle', () => {
  const ask: Execute = async (run) => {
    write(run, 'a', 'one two')
    await run.requireInput('More?')
    write(run, 'a', 'three')
    write(run, 'b', 'four')
    run.complete()
  }

  test('of the next message reports the existing artifacts', async () => {
    const a = agent(ask)
    await result(a, 'tasks/send', say('t', 'go'))
    const events = await (await listen(a, 'tasks/sendSubscribe', say('t', 'yes'))).results()
    const collector = new Collector()
    for (const event of events) collector.add(event)
    expect(collector.texts).toEqual({ 0: 'one two three ', 1: 'four ' })
    expect(collector.texts).toEqual(await held(a, 't'))
  })

  test('begins from the start of an artifact for a reader that has not received all of it', async () => {
    const a = agent(ask)
    await result(a, 'tasks/send', say('t', 'go'))
    const first = await listen(a, 'tasks/resubscribe', { id: 't' })
    const { id, body } = (await first.next()) ?? {}
    expect(body).toMatchObject({ result: { artifact: { index: 0, append: false } } })
    await first.leave()
    await result(a, 'tasks/send', say('t', 'yes'))
    const headers = { 'last-event-id': id ?? '' }
    const events = await (await listen(a, 'tasks/resubscribe', { id: 't' }, { headers })).results()
    const collector = new Collector()
    for (const event of events) collector.add(event)
    expect(collector.texts).toEqual(await held(a, 't'))
  })

  test('ends when its reader leaves, also between the artifacts', async () => {
    const a = agent(
      async (run) => {
        write(run, 'a', 'one')
        write(run, 'b', 'two')
        await run.requireInput('More?')
      },
      { limits: { maxStreams: 1 } },
    )
    await result(a, 'tasks/send', say('t', 'go'))
    for (let round = 0; round < 2; round += 1) {
      const open = await listen(a, 'tasks/resubscribe', { id: 't' })
      expect((await open.next())?.body).toMatchObject({ result: { artifact: { index: 0 } } })
      await open.leave()
    }
  })

  test('answers each of several reads at once with its own event, in their order', async () => {
    const a = agent(ask)
    await result(a, 'tasks/send', say('t', 'go'))
    const events = await stream(a, 'tasks/sendSubscribe', say('t', 'yes'))
    const received = await Promise.all(Array.from({ length: 7 }, () => events.next()))
    expect(received.map((event) => event?.artifact?.index ?? event?.status?.state)).toEqual([
      ...[0, 'working', 0, 1, 'completed', undefined, undefined],
    ])
  })
})

test('the number of an artifact is the same in each stream and answer, whatever comes first', async () => {
  const go = gate()
  const a = agent(async (run) => {
    run.start()
    a.tasks.patchTask(run.task.id, { output: 'out' })
    await go.opened
    write(run, 'first', 'A')
    run.complete()
  })
  const events = await stream(a, 'tasks/sendSubscribe', say('t', 'go'))
  const collector = new Collector()
  let event = await events.next()
  for (; event !== undefined && event.artifact === undefined;) event = await events.next()
  if (event !== undefined) collector.add(event)
  expect(await held(a, 't')).toEqual(collector.texts)
  go.open()
  while ((event = await events.next()) !== undefined) collector.add(event)
  expect(collector.texts).toEqual({ 0: 'A ', 2_147_483_647: 'out' })
  expect(await held(a, 't')).toEqual(collector.texts)
})

test.each(['requireInput', 'requireAuth'] as const)(
  'a state shown as input-required ends the stream of a message, and no other: %s',
  async (ask) => {
    const go = gate()
    const a = agent(async (run) => {
      await go.opened
      await run[ask]('Who?')
      run.complete('Thanks')
    })
    const own = await listen(a, 'tasks/sendSubscribe', say('t', 'go'))
    const other = await listen(a, 'tasks/resubscribe', { id: 't' })
    await other.next()
    go.open()
    const waiting = { status: { state: 'input-required' } }
    expect((await own.results()).at(-1)).toMatchObject({ ...waiting, final: true })
    await result(a, 'tasks/send', say('t', 'Ada'))
    const results = await other.results()
    expect(results).toContainEqual(
      expect.objectContaining({ final: false, status: expect.objectContaining(waiting.status) as unknown }),
    )
    expect(results.at(-1)).toMatchObject({ status: { state: 'completed' }, final: true })
  },
)

test.each([true, false])(
  'a task that waits ends a stream only where it stands for a gap: %s',
  async (isResync) => {
    const { tasks, id } = setup()
    walk(tasks, id, 'working', 'auth-required')
    const task = tasks.peekTask(id)
    if (task === null) throw new Error('The task is gone')
    const { generation, contextId, updatedAt: timestamp } = task
    const type = isResync ? 'resync' : 'snapshot'
    const options = { contextId, historyLength: undefined, endsAtInput: false, onEnd: () => undefined }
    const stream = new TaskStream(
      sourceOf<TaskStreamEvent>({ type, taskId: id, generation, timestamp, task }),
      {
        ...options,
        task: () => task,
      },
    )
    stream.profile = { endsAtAuth: true }
    const { value } = await stream.next()
    expect(value?.last).toBe(isResync)
  },
)
