/** A message that is sent twice begins one task. */
import type { Execute } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { as, call, gate, jsonRpc, nameOf, open, textsOf, user } from '../spec/support/agent.js'
import { inTime, MANAGERS, send, sendForTask } from './support.js'

const DAY = 86_400_000
const NOW = { configuration: { returnImmediately: true } }

/** Counts its runs. */
function counting(work: Execute = (run) => `done: ${run.text}`): {
  readonly texts: string[]
  readonly execute: Execute
} {
  const texts: string[] = []
  const execute: Execute = (run) => {
    texts.push(run.text)
    return work(run)
  }
  return { texts, execute }
}

describe.each(MANAGERS)('over a %s a message that is sent again', (_, openAgents) => {
  test('gets the stored answer, at any replica', async () => {
    const { texts, execute } = counting()
    const { a, b, tasks, errors } = await openAgents(execute)
    const message = user('hello')
    const task = await sendForTask(a, message)
    expect(textsOf(task)).toEqual(['done: hello'])
    expect(task.id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
    expect(await sendForTask(b, message)).toEqual(task)
    expect(await sendForTask(a, message, NOW)).toEqual(task)
    expect(texts).toEqual(['hello'])
    expect(await tasks.size()).toBe(1)
    expect(errors).toEqual([])
  })

  test('gets the live task, and its end when it waits for it', async () => {
    const work = gate()
    const { texts, execute } = counting(async (run) => {
      run.start()
      await work.opened
      return 'done'
    })
    const agents = await openAgents(execute)
    const { a, b } = agents
    const message = user('hello')
    const begun = await sendForTask(a, message, NOW)
    const seen = await sendForTask(b, message, NOW)
    expect([seen.id, seen.status.state]).toEqual([begun.id, 'TASK_STATE_WORKING'])
    const ends = [sendForTask(a, message), sendForTask(b, message)]
    work.open()
    for (const task of await inTime(agents, Promise.all(ends))) {
      expect([task.id, textsOf(task)]).toEqual([begun.id, ['done']])
    }
    expect(texts).toEqual(['hello'])
  })

  test('gets the rest of the stream', async () => {
    const work = gate()
    const { texts, execute } = counting(async (run) => {
      run.artifact('one', { append: true })
      await work.opened
      return 'two'
    })
    const agents = await openAgents(execute)
    const { a, b } = agents
    const params = { message: user('hello') }
    const first = await open(jsonRpc, a, 'SendStreamingMessage', params, as('ada'))
    const opening = await first.next()
    const second = await open(jsonRpc, b, 'SendStreamingMessage', params, as('ada'))
    const again = await second.next()
    expect(again?.value.task?.id).toBe(opening?.value.task?.id)
    work.open()
    const names = (await inTime(agents, second.rest())).map(nameOf)
    expect(names.at(-1)).toBe('completed')
    expect((await first.rest()).map(nameOf).at(-1)).toBe('completed')
    const late = await open(jsonRpc, b, 'SendStreamingMessage', params, as('ada'))
    expect((await late.rest()).map(({ value }) => value.task?.status.state)).toEqual(['TASK_STATE_COMPLETED'])
    expect(texts).toEqual(['hello'])
  })

  test('at the same moment begins one task', async () => {
    const { execute } = counting()
    const { a, b, tasks, errors } = await openAgents(execute)
    const message = user('hello')
    const answers = await Promise.all([a, b, a, b].map((at) => sendForTask(at, message)))
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
    expect(answers.map(textsOf)).toEqual(Array(4).fill(['done: hello']))
    expect(await tasks.size()).toBe(1)
    expect(errors).toEqual([])
  })

  test('at the same moment at one replica is worked on once', async () => {
    const { texts, execute } = counting(async (run) => {
      await Promise.resolve()
      return run.text
    })
    const { a } = await openAgents(execute)
    const message = user('hello')
    await Promise.all(Array.from({ length: 10 }, () => sendForTask(a, message)))
    expect(texts).toEqual(['hello'])
  })

  test('is refused with the path of what differs', async () => {
    const { texts, execute } = counting()
    const { a, b, tasks } = await openAgents(execute)
    const message = user('hello', { metadata: { tone: { of: ['voice'] } }, contextId: 'here' })
    await sendForTask(a, message)
    const others: [string, object][] = [
      ['message.parts[0].text', { parts: [{ text: 'goodbye' }] }],
      ['message.parts[1]', { parts: [{ text: 'hello' }, { text: 'you' }] }],
      ['message.metadata.tone.of[0]', { metadata: { tone: { of: ['heart'] } } }],
      ['message.metadata', { metadata: undefined }],
      ['message.extensions', { extensions: ['https://extension.test'] }],
      ['message.contextId', { contextId: 'there' }],
    ]
    for (const [path, change] of others) {
      const { error } = await send(b, { ...message, ...change })
      expect(error).toMatchObject({ code: -32602, reason: 'INVALID_PARAMS' })
      expect(error?.message).toContain(
        `${path} differs from the message that was sent with this id before: use a new id`,
      )
    }
    expect(texts).toEqual(['hello'])
    expect(await tasks.size()).toBe(1)
  })

  test('is new work for another principal or tenant', async () => {
    const { texts, execute } = counting()
    const { a, b, tasks } = await openAgents(execute)
    const message = user('hello')
    const all = [
      await sendForTask(a, message),
      await sendForTask(b, message, { who: 'bob' }),
      await sendForTask(b, message, { tenant: 'acme' }),
    ]
    expect(new Set(all.map(({ id }) => id)).size).toBe(3)
    expect(await sendForTask(b, message, { tenant: 'acme' })).toEqual(all[2])
    expect([texts.length, await tasks.size()]).toEqual([3, 3])
  })

  test('is new work after its time, and then one task again', async () => {
    const { texts, execute } = counting()
    const { a, b, clock } = await openAgents(execute)
    const message = user('hello')
    const first = await sendForTask(a, message)
    clock.advance(DAY - 1)
    expect(await sendForTask(b, message)).toEqual(first)
    clock.advance(1)
    const second = await sendForTask(b, message)
    expect(second.id).not.toBe(first.id)
    expect(await sendForTask(a, message)).toEqual(second)
    clock.advance(DAY)
    const third = await sendForTask(a, message)
    expect(await sendForTask(b, message)).toEqual(third)
    expect(new Set([first.id, second.id, third.id]).size).toBe(3)
    expect(texts).toHaveLength(3)
  })

  test('is new work after the time of the options', async () => {
    const { execute } = counting()
    const { a, b, clock } = await openAgents(execute, { idempotency: { ttlMs: 1_000 } })
    const message = user('hello')
    const first = await sendForTask(a, message)
    clock.advance(999)
    expect((await sendForTask(b, message)).id).toBe(first.id)
    clock.advance(1)
    expect((await sendForTask(b, message)).id).not.toBe(first.id)
  })

  test('is new work for callers without a principal', async () => {
    const { texts, execute } = counting()
    const { a, b } = await openAgents(execute, { authenticate: undefined })
    const message = user('hello')
    const ids = [await sendForTask(a, message), await sendForTask(b, message)].map(({ id }) => id)
    expect([new Set(ids).size, texts.length]).toEqual([2, 2])
  })

  test('is one task for callers without a principal, if the options say so', async () => {
    const { texts, execute } = counting()
    const options = { authenticate: undefined, idempotency: { anonymous: true } }
    const { a, b } = await openAgents(execute, options)
    const message = user('hello')
    const ids = [await sendForTask(a, message), await sendForTask(b, message)].map(({ id }) => id)
    expect([new Set(ids).size, texts.length]).toEqual([1, 1])
  })

  test('is new work where idempotency is off', async () => {
    const { texts, execute } = counting()
    const { a, b } = await openAgents(execute, { idempotency: false })
    const message = user('hello')
    const ids = [await sendForTask(a, message), await sendForTask(b, message)].map(({ id }) => id)
    expect([new Set(ids).size, texts.length]).toEqual([2, 2])
  })

  test('is new work after it was refused', async () => {
    const { texts, execute } = counting()
    let isOpen = false
    const accept = (): void => {
      if (!isOpen) throw new TypeError('closed')
    }
    const { a, b } = await openAgents(Object.assign(execute, { accept }))
    const message = user('hello')
    expect((await send(a, message)).error).toBeDefined()
    isOpen = true
    expect(textsOf(await sendForTask(b, message))).toEqual(['done: hello'])
    expect(texts).toEqual(['hello'])
  })

  test('gets a task that waits for input as it is', async () => {
    const { texts, execute } = counting(async (run) => {
      const { parts } = await run.requireInput('Which?')
      return `You said ${parts[0]?.text ?? ''}`
    })
    const { a, b } = await openAgents(execute)
    const message = user('hello')
    const asked = await sendForTask(a, message)
    expect(asked.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(await sendForTask(b, message)).toEqual(asked)
    const { result } = await call(jsonRpc, a, 'ListTasks', {}, as('ada'))
    expect(result?.tasks.map(({ id }) => id)).toEqual([asked.id])
    expect(texts).toEqual(['hello'])
  })
})
