/** An abort of the caller's signal, at every moment of a run. */
import { A2AError } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { listenersOf } from '../support/listeners.js'
import {
  clientOf,
  error,
  failureOf,
  scripted,
  status,
  stream,
  task,
  writeEvents,
  type Asked,
  type Scripted,
} from './scripted.js'

/** An agent whose task works until it is canceled. `before` answers what else it shall. */
async function worker(
  before: (asked: Asked) => object | null | undefined | 'default' = () => 'default',
  streaming = true,
): Promise<Scripted> {
  let state = 'working'
  let contextId: string | undefined
  return await scripted((asked) => {
    contextId ??= asked.params.message?.contextId
    const answer = before(asked)
    if (answer !== 'default') return answer
    if (asked.method === 'CancelTask') state = 'canceled'
    const now = task(state, { contextId })
    if (asked.method === 'ListTasks') return { tasks: [now] }
    if (asked.method === 'SendMessage') return { task: now }
    if (!asked.method.includes('Stream') && asked.method !== 'SubscribeToTask') return now
    writeEvents(asked, [{ task: now }])
    return undefined
  }, streaming)
}

function on<T>(): { readonly happened: Promise<T>; readonly happen: (value: T) => void } {
  let happen: (value: T) => void = () => undefined
  const happened = new Promise<T>((resolve) => (happen = resolve))
  return { happened, happen }
}

describe('an abort', () => {
  test('before the message is sent: no request, and the reason is kept', async () => {
    const agent = await worker()
    const reason = new Error('Never mind')
    const result = await clientOf(agent).run('hi', { signal: AbortSignal.abort(reason) })
    expect(failureOf(result)).toEqual({ type: 'aborted', code: 'REQUEST_ABORTED' })
    expect('error' in result && result.error.cause).toBe(reason)
    expect(agent.asked).toEqual([])
  })

  test('before a run is resumed: its task is canceled', async () => {
    const agent = await worker()
    const result = await clientOf(agent).resume(
      { messageId: 'm', taskId: 't-1' },
      { signal: AbortSignal.abort() },
    )
    expect(result.type).toBe('canceled')
    expect(agent.methods()).toEqual(['CancelTask'])
  })

  test.each([true, false])(
    'while the request is in flight (streams: %s): the task is looked for and canceled',
    async (streaming) => {
      const { happened, happen } = on<Asked>()
      const agent = await worker((asked) => {
        if (!asked.method.startsWith('Send')) return 'default'
        happen(asked)
        return undefined
      }, streaming)
      const controller = new AbortController()
      const running = clientOf(agent).run('hi', { signal: controller.signal })
      const { response } = await happened
      const closed = new Promise((resolve) => response.on('close', resolve))
      controller.abort()
      expect(await running).toMatchObject({
        ok: false,
        type: 'canceled',
        task: { id: 't-1', state: 'canceled' },
      })
      expect(agent.methods()).toEqual([
        streaming ? 'SendStreamingMessage' : 'SendMessage',
        'ListTasks',
        'CancelTask',
      ])
      await closed
    },
  )

  test('in the middle of a stream: the stream is left and the task canceled', async () => {
    const agent = await worker()
    const controller = new AbortController()
    const running = clientOf(agent).run('hi', {
      signal: controller.signal,
      onUpdate: () => controller.abort(),
    })
    expect(await running).toMatchObject({ type: 'canceled', text: '' })
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'CancelTask'])
    const [{ response } = { response: undefined }] = agent.asked
    await expect.poll(() => response?.destroyed).toBe(true)
  })

  test('while the task is polled', async () => {
    const { happened, happen } = on<null>()
    let polls = 0
    const agent = await worker(({ method }) => {
      if (method === 'GetTask' && (polls += 1) === 3) happen(null)
      return 'default'
    }, false)
    const controller = new AbortController()
    const running = clientOf(agent).run('hi', { signal: controller.signal, pollIntervalMs: 1 })
    await happened
    controller.abort()
    expect((await running).type).toBe('canceled')
    expect(agent.methods().at(-1)).toBe('CancelTask')
  })

  test('while a callback of the user takes its time', async () => {
    let state = 'input-required'
    const agent = await scripted(({ method }) => {
      if (method === 'CancelTask') state = 'canceled'
      const now = task(state, { says: 'q', at: '1' })
      return method === 'SendMessage' ? { task: now } : now
    }, false)
    const controller = new AbortController()
    const result = await clientOf(agent).run('hi', {
      signal: controller.signal,
      onInputRequired: () => {
        controller.abort()
        return new Promise<never>(() => undefined)
      },
    })
    expect(result.type).toBe('canceled')
  })

  test('after the end does nothing, and no listener is left', async () => {
    const agent = await scripted(
      ({ method }) => (method === 'GetTask' ? task('completed') : { task: task('completed') }),
      false,
    )
    const controller = new AbortController()
    const { signal } = controller
    const listeners = listenersOf(signal)
    expect((await clientOf(agent).run('hi', { signal })).type).toBe('completed')
    expect(listeners.added()).toBe(1)
    expect(listeners.count()).toBe(0)
    controller.abort()
    expect(agent.methods()).toEqual(['SendMessage', 'GetTask'])
  })
})

describe('an agent that receives a cancellation', () => {
  /** Aborts as soon as the agent has sent something. */
  async function aborted(agent: Scripted) {
    const controller = new AbortController()
    return await clientOf(agent, { timeoutMs: 100 }).run('hi', {
      signal: controller.signal,
      onUpdate: () => controller.abort(),
    })
  }

  test('and refuses: the run is aborted, with the task as it is then and a handle to resume it', async () => {
    const agent = await worker(({ method }) => {
      if (method === 'CancelTask') return error(-32002)
      return method === 'GetTask' ? task('working', { says: 'Almost there' }) : 'default'
    })
    const result = await aborted(agent)
    expect(result).toMatchObject({
      type: 'aborted',
      task: { state: 'working', message: { messageId: 'Almost there' } },
      handle: { taskId: 't-1' },
    })
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'CancelTask', 'GetTask'])
  })

  test('and has completed the task by then: the result is the completed task', async () => {
    const agent = await worker(({ method }) => {
      if (method === 'CancelTask') return error(-32002)
      return method === 'GetTask' ? task('completed', { text: 'done' }) : 'default'
    })
    expect(await aborted(agent)).toMatchObject({ ok: true, type: 'completed', text: 'done' })
  })

  test('and takes its time to do so: the run is aborted', async () => {
    const agent = await worker(({ method }) => (method === 'CancelTask' ? task('working') : 'default'))
    expect((await aborted(agent)).type).toBe('aborted')
  })

  test('and cannot be reached for a while receives it again', async () => {
    let cancels = 0
    const agent = await worker(({ method, response }) => {
      if (method !== 'CancelTask' || (cancels += 1) > 3) return 'default'
      // A broken connection, a response of another server, and none at all.
      if (cancels === 1) response.destroy()
      if (cancels === 2) response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
      return undefined
    })
    expect((await aborted(agent)).type).toBe('canceled')
    expect(cancels).toBe(4)
  })

  test('and does not answer, once its task has been looked for: the handle has the task', async () => {
    const { happened, happen } = on<null>()
    const agent = await worker(({ method, response }) => {
      if (method === 'CancelTask') {
        response.destroy()
        return undefined
      }
      if (method !== 'SendStreamingMessage') return 'default'
      happen(null)
      return undefined
    })
    const controller = new AbortController()
    const running = clientOf(agent).run('hi', { signal: controller.signal })
    await happened
    controller.abort()
    expect(await running).toMatchObject({ type: 'aborted', handle: { taskId: 't-1' } })
  })

  test('and has no trace of the message: the run is aborted, and nothing is left to cancel', async () => {
    const { happened, happen } = on<null>()
    const agent = await worker(({ method }) => {
      if (method === 'ListTasks') return { tasks: [] }
      happen(null)
      return undefined
    })
    const controller = new AbortController()
    const running = clientOf(agent).run('hi', { signal: controller.signal })
    await happened
    controller.abort()
    expect(await running).toMatchObject({ type: 'aborted', handle: { isOwnContext: true } })
    expect(agent.methods()).not.toContain('CancelTask')
  })
})

test('what onUpdate throws cancels the task, and is thrown', async () => {
  const agent = await worker()
  const failure = new Error('No room on the page')
  const running = clientOf(agent).run('hi', {
    onUpdate() {
      throw failure
    },
  })
  await expect(running).rejects.toBe(failure)
  expect(agent.methods()).toEqual(['SendStreamingMessage', 'CancelTask'])
})

test('what onUpdate throws cancels no task that another process follows by then', async () => {
  const agent = await worker()
  const failure = new Error('Not held here')
  const controller = new AbortController()
  const running = clientOf(agent).run('hi', {
    signal: controller.signal,
    onUpdate() {
      controller.abort(new A2AError('LEASE_LOST', 'Held elsewhere', { taskId: '' }))
      throw failure
    },
  })
  await expect(running).rejects.toBe(failure)
  expect(agent.methods()).toEqual(['SendStreamingMessage'])
})

test.each(['onInputRequired', 'onAuthRequired'] as const)(
  'what %s rejects with cancels the task, and is thrown',
  async (name) => {
    const state = name === 'onInputRequired' ? 'input-required' : 'auth-required'
    const agent = await scripted((asked) => {
      if (asked.method === 'SendStreamingMessage')
        return stream(asked, [{ task: task('working') }, status(state)])
      return task(asked.method === 'CancelTask' ? 'canceled' : state)
    })
    const failure = new Error('Unknown')
    await expect(clientOf(agent).run('hi', { [name]: () => Promise.reject(failure) })).rejects.toBe(failure)
    expect(agent.methods()).toEqual(['SendStreamingMessage', 'GetTask', 'CancelTask'])
  },
)
