/** Executors of the official SDK that do what they should not: the task stays legal, and nothing is lost without a report. */
import { Role, TaskState, type Task } from '@a2a-js/sdk'
import { AgentEvent, type AgentExecutionEvent, type RequestContext } from '@a2a-js/sdk/server'
import { A2AError, TaskManager } from 'a2a-tasks'
import { fromAgentExecutor } from 'a2a-tasks/migrate'
import { createRequestHandler } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import { thrown } from '../support/manager.js'
import { expectWarnings } from '../support/warnings.js'
import { agent, type Act, type Options } from './support/agent.js'
import { pause, say, type Publisher } from './support/modern-executors.js'

const FAILED = 'The agent could not finish this task'

/** The task fails as for a throw, and `onError` receives the reason. */
async function refused(act: Act, options?: Options): Promise<unknown> {
  const { send, tasks, errors } = agent(act, options)
  const { task } = await send()
  expect(task?.status.state).toBe('TASK_STATE_FAILED')
  expect(task?.status.message?.parts).toEqual([{ text: FAILED }])
  expect(tasks.peekTask(task?.id ?? '')?.state).toBe('failed')
  expect(errors).toHaveLength(1)
  return errors[0]
}

test('a step back to submitted is refused with the error of the lifecycle', async () => {
  const error = await refused((publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_WORKING)
    publish.status(TaskState.TASK_STATE_SUBMITTED)
    publish.status(TaskState.TASK_STATE_COMPLETED)
  })
  expect(A2AError.is(error, 'INVALID_TRANSITION') && error.data).toMatchObject({
    from: 'working',
    to: 'submitted',
  })
})

test.each([
  [
    'a task with another id',
    (context: RequestContext) => AgentEvent.task({ ...taskOf(context), id: 'other' }),
    /"event\.taskId" must be that of the request/,
  ],
  [
    'a task of another context',
    (context: RequestContext) => AgentEvent.task({ ...taskOf(context), contextId: 'other' }),
    /"event\.contextId" must be that of the request/,
  ],
  [
    'an update of another task',
    AgentEvent.statusUpdate({
      taskId: 'other',
      contextId: '',
      status: status(TaskState.TASK_STATE_WORKING),
      metadata: undefined,
    }),
    /"event\.taskId" must be that of the request/,
  ],
  [
    'an unknown state',
    (context: RequestContext) =>
      AgentEvent.task({
        ...taskOf(context),
        status: Object.assign(status(TaskState.TASK_STATE_WORKING), { state: 999 }),
      }),
    /"event\.status\.state" must be one of 1, 2, 3, 4, 5, 6, 7, 8, got 999/,
  ],
  [
    'no status',
    (context: RequestContext) => AgentEvent.task({ ...taskOf(context), status: undefined }),
    /"event\.status" must be an object, got undefined/,
  ],
  ['no event', undefined as unknown as AgentExecutionEvent, /"event" must be an object, got undefined/],
  [
    'an unknown kind',
    { kind: 'news', data: {} } as unknown as AgentExecutionEvent,
    /"event\.kind" must be one of message, task, statusUpdate, artifactUpdate, got "news"/,
  ],
  [
    'a kind that every object has',
    { kind: 'constructor', data: {} } as unknown as AgentExecutionEvent,
    /"event\.kind" must be one of message, task, statusUpdate, artifactUpdate, got "constructor"/,
  ],
  [
    'an event of 0.3',
    { kind: 'task', id: '1', status: { state: 'working' } } as unknown as AgentExecutionEvent,
    /publishes events of @a2a-js\/sdk 0\.3: fromAgentExecutor\(executor, \{ version: '0\.3' \}\)/,
  ],
])('%s is refused', async (_name, given, text) => {
  const error = await refused((publish, context, bus) => {
    const event = typeof given === 'function' ? given(context) : given
    if ((event as AgentExecutionEvent | undefined)?.kind !== 'task') publish.task()
    bus.publish(event)
  })
  expect(error).toBeInstanceOf(TypeError)
  expect(String(error)).toMatch(text)
})

function status(state: TaskState): NonNullable<Task['status']> {
  return { state, message: undefined, timestamp: undefined }
}

function taskOf({ taskId: id, contextId }: RequestContext): Task {
  return {
    id,
    contextId,
    status: status(TaskState.TASK_STATE_SUBMITTED),
    artifacts: [],
    history: [],
    metadata: undefined,
  }
}

test('an executor that throws at once, without a promise, fails the task', async () => {
  const execute = (): Promise<void> => {
    throw new Error('at once')
  }
  const errors: unknown[] = []
  const handler = createRequestHandler({
    card: { name: 'Faults', url: 'https://faults.example' },
    execute: fromAgentExecutor({ execute, cancelTask: () => Promise.resolve() }),
    onError: (error) => errors.push(error),
  })
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  const answer = await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  expect(answer).toMatchObject({ result: { task: { status: { state: 'TASK_STATE_FAILED' } } } })
  expect(errors).toEqual([new Error('at once')])
})

test.each([
  ['nothing', () => undefined],
  ['a task that works', (publish: Publisher) => publish.task()],
])('an executor that publishes %s and returns fails its task', async (_name, act) => {
  expect(String(await refused(act))).toMatch(/ended its turn without a final state, a question or a message/)
})

test('an event that is published after the end changes nothing, and is reported', async () => {
  const { send, tasks, ignored, errors } = agent(async (publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_COMPLETED)
    publish.artifact('late')
    publish.status(TaskState.TASK_STATE_WORKING)
    publish.status(TaskState.TASK_STATE_COMPLETED)
    await pause()
  })
  const { task } = await send()
  expect(task?.status.state).toBe('TASK_STATE_COMPLETED')
  expect(task?.artifacts).toBeUndefined()
  expect(ignored.map(({ reason, taskId }) => [reason, taskId])).toEqual([
    ['late', task?.id],
    ['late', task?.id],
  ])
  expect(tasks.peekTask(task?.id ?? '')?.history.map(({ state }) => state)).toEqual([
    ...['submitted', 'working', 'completed'],
  ])
  expect(errors).toEqual([])
})

test('an event that is published after the executor has returned is reported', async () => {
  let late: () => void = () => {}
  const { send, ignored } = agent((publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_COMPLETED)
    late = () => publish.artifact('late')
  })
  const { task } = await send()
  late()
  expect(ignored).toMatchObject([{ reason: 'late', taskId: task?.id, event: { kind: 'artifactUpdate' } }])
})

test('without onIgnored, it is a warning of the process, once', async () => {
  const warnings = expectWarnings(/AgentExecutor, task .*: an event after the end of its turn is ignored/)
  const { send } = agent(
    (publish) => {
      publish.task()
      publish.status(TaskState.TASK_STATE_COMPLETED)
      publish.artifact('late')
      publish.artifact('later')
    },
    { onIgnored: undefined },
  )
  await send()
  await pause()
  expect(warnings).toHaveLength(1)
})

test('an executor that never returns is ended by the client, and by runTimeoutMs', async () => {
  const never = new Promise<void>(() => undefined)
  const clock = new ManualClock()
  const act: Act = (publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_WORKING)
    return never
  }
  const { send, rpc, canceled, errors, tasks } = agent(act, {
    ...{ clock, tasks: new TaskManager({ clock }), limits: { runTimeoutMs: 1000, maxRuns: 1 } },
  })
  const { task } = await send({}, { returnImmediately: true })
  expect(await rpc('CancelTask', { id: task?.id })).toMatchObject({
    result: { status: { state: 'TASK_STATE_CANCELED' } },
  })
  await pause()
  expect(canceled).toEqual([task?.id])
  expect(errors).toEqual([])
  // `maxRuns` is 1: the canceled turn has left its place.
  const second = send()
  await pause()
  clock.advance(1000)
  expect((await second).task?.status.state).toBe('TASK_STATE_FAILED')
  expect(canceled).toHaveLength(2)
  expect(errors.map((error) => A2AError.is(error, 'TASK_TIMED_OUT'))).toEqual([true])
  expect(tasks.size()).toBe(2)
})

test('cancelTask may throw and the executor may continue: the task is canceled, and the throw reported', async () => {
  let go: () => void = () => {}
  const { send, rpc, ignored, errors, tasks } = agent(
    async (publish) => {
      publish.task()
      await new Promise<void>((resolve) => {
        go = resolve
      })
      publish.artifact('too late')
      publish.status(TaskState.TASK_STATE_COMPLETED)
    },
    { cancelTask: () => Promise.reject(new Error('cannot')) },
  )
  const { task } = await send({}, { returnImmediately: true })
  const id = task?.id ?? ''
  await rpc('CancelTask', { id })
  await pause()
  go()
  await pause()
  expect(tasks.peekTask(id)).toMatchObject({ state: 'canceled', artifacts: [] })
  expect(ignored).toEqual([{ taskId: id, reason: 'error', error: new Error('cannot') }])
  expect(errors).toEqual([])
})

test('a task that waits for an answer is canceled with a call of cancelTask, once', async () => {
  const { send, rpc, canceled } = agent((publish, { task }) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_INPUT_REQUIRED, task === undefined ? 'Name?' : 'Age?')
  })
  const { task } = await send()
  await send({ taskId: task?.id })
  await rpc('CancelTask', { id: task?.id })
  await pause()
  expect(canceled).toEqual([task?.id])
})

test('an executor may cancel its task by itself', async () => {
  const { send, canceled, errors, ignored } = agent(async (publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_CANCELED, 'The user has left')
    await pause()
  })
  const { task } = await send()
  expect(task?.status).toMatchObject({
    state: 'TASK_STATE_CANCELED',
    message: { parts: [{ text: 'The user has left' }] },
  })
  expect([canceled, errors, ignored]).toEqual([[], [], []])
})

test('the request context: message, ids, user, metadata, modes, references, tenant', async () => {
  const seen: RequestContext[] = []
  const { send } = agent(
    (publish, context) => {
      seen.push(context)
      publish.task()
      publish.status(TaskState.TASK_STATE_COMPLETED, 'Done')
    },
    { principal: { id: 'ada', plan: 'pro' } },
  )
  const { task: first } = await send()
  const data = { raw: 'AAEC', mediaType: 'application/x', filename: 'a.bin' }
  const { task } = await send(
    {
      parts: [{ text: 'hi' }, data, { data: { a: [1] } }],
      referenceTaskIds: [first?.id],
      metadata: { k: 'v' },
    },
    { acceptedOutputModes: ['text/plain'] },
  )
  const [, context] = seen
  expect(context).toMatchObject({
    ...{ taskId: task?.id, contextId: task?.contextId, task: undefined },
    userMessage: { taskId: task?.id, contextId: task?.contextId, role: Role.ROLE_USER, metadata: { k: 'v' } },
    request: { configuration: { acceptedOutputModes: ['text/plain'] }, tenant: '' },
    context: { user: { isAuthenticated: true, userName: 'ada', plan: 'pro' }, requestedExtensions: [] },
    referenceTasks: [
      {
        id: first?.id,
        status: { state: TaskState.TASK_STATE_COMPLETED, message: { role: Role.ROLE_AGENT } },
        history: [{ role: Role.ROLE_USER }, { role: Role.ROLE_AGENT }],
      },
    ],
  })
  expect(context?.userMessage.parts.map(({ content }) => content)).toEqual([
    { $case: 'text', value: 'hi' },
    { $case: 'raw', value: Buffer.from([0, 1, 2]) },
    { $case: 'data', value: { a: [1] } },
  ])
  expect(context?.context.user?.userName).toBe('ada')
})

test('the answer to a question finds the task as it asked, and what the executor changes in it is its own', async () => {
  const seen: unknown[] = []
  const { send, tasks } = agent((publish, { task }) => {
    seen.push(task && [task.status?.state, task.status?.message?.parts[0]?.content, task.history.length])
    if (task !== undefined) task.history.length = 0
    publish.task()
    publish.status(
      task === undefined ? TaskState.TASK_STATE_INPUT_REQUIRED : TaskState.TASK_STATE_COMPLETED,
      'Name?',
    )
  })
  const { task } = await send()
  await send({ taskId: task?.id })
  expect(seen).toEqual([
    undefined,
    [TaskState.TASK_STATE_INPUT_REQUIRED, { $case: 'text', value: 'Name?' }, 3],
  ])
  expect(tasks.peekTask(task?.id ?? '')?.messages).toHaveLength(4)
})

test('metadata of tasks and updates, and messages that only a history has, are reported and left out', async () => {
  const { send, ignored } = agent((publish, context, bus) => {
    publish.task({ metadata: { trace: 1 }, history: [say('I said', context)] })
    const { taskId, contextId } = context
    bus.publish(
      AgentEvent.statusUpdate({
        taskId,
        contextId,
        status: status(TaskState.TASK_STATE_COMPLETED),
        metadata: { a: 1 },
      }),
    )
  })
  const { task } = await send()
  expect(task?.history).toHaveLength(1)
  expect(task?.metadata).toBeUndefined()
  expect(ignored.map(({ reason }) => reason)).toEqual(['metadata', 'history', 'metadata'])
})

test('the samples copy the metadata of the message to the task: the message keeps it', async () => {
  const { send, ignored } = agent((publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_COMPLETED)
  })
  const { task } = await send({ metadata: { trace: 1 } })
  expect(task?.history?.[0]?.metadata).toEqual({ trace: 1 })
  expect(ignored).toEqual([])
})

test('a message after the task completes it, and later events are late', async () => {
  const { send, ignored } = agent(async (publish, context, bus) => {
    publish.task()
    bus.publish(AgentEvent.message(say('Done', context)))
    publish.artifact('late')
    await pause()
  })
  const { task } = await send()
  expect(task?.status).toMatchObject({
    state: 'TASK_STATE_COMPLETED',
    message: { parts: [{ text: 'Done' }] },
  })
  expect(ignored.map(({ reason }) => reason)).toEqual(['late'])
})

test('a limit of the manager fails the task, with nothing buffered behind it', async () => {
  const tasks = new TaskManager({ limits: { maxArtifactsSize: 10_000 } })
  const error = await refused(
    (publish) => {
      publish.task()
      for (let index = 0; index < 1000; index += 1) publish.artifact('x'.repeat(100), { append: index > 0 })
      publish.status(TaskState.TASK_STATE_COMPLETED)
    },
    { tasks },
  )
  expect(A2AError.is(error, 'LIMIT_EXCEEDED')).toBe(true)
})

test('listeners of the bus: on, once, off, removeAllListeners, and one that throws', async () => {
  const seen: string[] = []
  const { send, ignored } = agent((publish, _context, bus) => {
    const every = (event: AgentExecutionEvent): void => void seen.push(event.kind)
    const off = (): void => void seen.push('off')
    bus.on('event', every).on('event', off).off('event', off)
    bus.once('event', () => void seen.push('once'))
    bus.once('event', () => {
      throw new Error('listener')
    })
    bus.on('finished', () => void seen.push('finished'))
    publish.task()
    publish.status(TaskState.TASK_STATE_COMPLETED)
    bus.finished()
    bus.removeAllListeners()
    bus.finished()
    expect(() => bus.on('other' as 'event', every)).toThrow(TypeError)
  })
  const { task } = await send()
  expect(seen).toEqual(['task', 'once', 'statusUpdate', 'finished'])
  expect(ignored).toEqual([{ taskId: task?.id, reason: 'error', error: new Error('listener') }])
})

test('a task without a question keeps its text, and one without a message asks in a few words', async () => {
  const { send } = agent((publish) => {
    publish.task()
    publish.status(TaskState.TASK_STATE_AUTH_REQUIRED)
  })
  const { task } = await send()
  expect(task?.status).toMatchObject({
    state: 'TASK_STATE_AUTH_REQUIRED',
    message: { parts: [{ text: 'Authentication required' }] },
  })
})

test('a question while another message waits begins the next turn with that message', async () => {
  let go: () => void = () => {}
  const texts: string[] = []
  const { send, rpc } = agent(async (publish, { userMessage, task }) => {
    texts.push(userMessage.parts.map(({ content }) => content?.value as string).join(''))
    publish.task()
    if (task !== undefined) {
      publish.status(TaskState.TASK_STATE_COMPLETED)
      return
    }
    publish.status(TaskState.TASK_STATE_WORKING)
    await new Promise<void>((resolve) => {
      go = resolve
    })
    publish.status(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which?')
  })
  const { task } = await send({}, { returnImmediately: true })
  const second = send({ taskId: task?.id, parts: [{ text: 'this' }] })
  await pause()
  go()
  expect((await second).task?.status.state).toBe('TASK_STATE_COMPLETED')
  expect(texts).toEqual(['hi', 'this'])
  expect(await rpc('GetTask', { id: task?.id })).toMatchObject({
    result: { status: { state: 'TASK_STATE_COMPLETED' } },
  })
})

test('a value that is no executor, and unknown options, are refused', () => {
  const executor = { execute: () => Promise.resolve(), cancelTask: () => Promise.resolve() }
  const call = fromAgentExecutor as (...given: unknown[]) => unknown
  expect(String(thrown(() => call({ execute: executor.execute })))).toBe(
    'TypeError: "executor" must be an AgentExecutor of @a2a-js/sdk, with execute() and cancelTask(), got an object',
  )
  expect(String(thrown(() => call(executor, { version: '2.0' })))).toMatch(
    /"version" must be one of "1.0", "0.3"/,
  )
  expect(String(thrown(() => call(executor, { verison: '1.0' })))).toMatch(/Unknown option "verison"/)
})
