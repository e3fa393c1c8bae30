import { TaskManager } from 'a2a-tasks'
import type * as wire from 'a2a-tasks/schemas'
import { createRequestHandler, type PushOptions, type Run } from 'a2a-tasks/server'
import { v0_1 } from 'a2a-tasks/compat'
import { v1 } from 'a2a-tasks/wire'
import { describe, expect, test } from 'vitest'
import { pushAgent, receiver, summariesOf, until } from './support/push.js'

const MESSAGE = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Go' }] }

describe('a webhook', () => {
  test('receives the task as it is, and then every change in order', async () => {
    const hook = await receiver()
    const { create, task, tasks } = pushAgent()
    const id = task()
    const config = await create(id, { url: hook.url })
    tasks.updateTask(id, { state: 'working' })
    tasks.addMessage(id, { role: 'agent', parts: [{ text: 'no event of A2A' }] })
    tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'one' }] })
    tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'two' }] })
    tasks.updateTask(id, { state: 'completed' })
    expect(summariesOf(await hook.arrived(5))).toEqual([
      ...['task submitted', 'working', 'artifact one', 'artifact two', 'completed'],
    ])
    const ids = hook.received.map(({ headers }) => headers['x-a2a-notification-id'])
    expect(ids).toEqual([1, 2, 4, 5, 6].map((generation) => `${id}/${config.id}/${generation}`))
  })

  test('receives a task that has ended before it was registered', async () => {
    const hook = await receiver()
    const { create, task, tasks, handler } = pushAgent()
    const id = task()
    tasks.updateTask(id, { state: 'working' })
    tasks.updateTask(id, { state: 'completed', artifacts: [{ parts: [{ text: 'all' }] }] })
    await create(id, { url: hook.url })
    const [first] = await hook.arrived(1)
    expect(first?.body.task?.artifacts?.[0]?.parts).toEqual([{ text: 'all' }])
    await until(async () => (await handler.push.health(id))[0]?.state === 'done')
    expect(hook.received).toHaveLength(1)
  })

  test('86, 87. is sent what the protocol says, with its credentials and its token', async () => {
    const hook = await receiver()
    const { create, task } = pushAgent()
    const authentication = { scheme: 'Bearer', credentials: 'abc.def' }
    const config = { id: 'a/b ü', url: `${hook.url}?key=1`, token: 'token-1', authentication }
    const id = task()
    await create(id, config)
    const [first] = await hook.arrived(1)
    expect(first?.path).toBe('/hook?key=1')
    expect(first?.headers).toMatchObject({
      'content-type': 'application/a2a+json',
      'a2a-version': '1.0',
      authorization: 'Bearer abc.def',
      'x-a2a-notification-token': 'token-1',
      'x-a2a-notification-id': `${id}/a%2Fb%20%C3%BC/1`,
    })
    expect(Object.keys(first?.body ?? {})).toEqual(['task'])
  })

  test('87. gets no header "Authorization" where its credentials are missing', async () => {
    const hook = await receiver()
    const { call, create, task } = pushAgent()
    await create(task(), { url: hook.url, authentication: { scheme: 'Bearer' } })
    const old = { url: hook.url, authentication: { schemes: ['Bearer'] } }
    const params = { taskId: task(), pushNotificationConfig: old }
    await call('tasks/pushNotificationConfig/set', params, { version: '0.3' })
    for (const { headers } of await hook.arrived(2)) expect(headers).not.toHaveProperty('authorization')
  })

  test('175. in 0.3 receives the token and the whole task, as it was at each change', async () => {
    const hook = await receiver(503)
    const { call, clock, task, tasks, handler } = pushAgent()
    const id = task()
    const params = { taskId: id, pushNotificationConfig: { id: 'one', url: hook.url, token: 'token-1' } }
    await call('tasks/pushNotificationConfig/set', params, { version: '0.3' })
    // All happens before the first notification has arrived.
    tasks.updateTask(id, { state: 'working', message: 'Reading' })
    tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'one' }] })
    tasks.updateTask(id, { state: 'completed', message: null })
    await until(async () => (await handler.push.health(id))[0]?.state === 'retrying')
    clock.advance(60_000)
    const bodies = (await hook.arrived(5)).map(({ body }) => body as unknown as LegacyTask)
    expect(bodies.map(({ kind, status }) => `${kind} ${status.state}`)).toEqual([
      ...['task submitted', 'task submitted', 'task working', 'task working', 'task completed'],
    ])
    expect(bodies.map(({ artifacts = [] }) => artifacts.length)).toEqual([0, 0, 0, 1, 1])
    expect(hook.received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'a2a-version': '0.3',
      'x-a2a-notification-token': 'token-1',
    })
  })

  test('84. that was named with a message receives its task', async () => {
    const hook = await receiver()
    const { call } = pushAgent({
      async execute(run: Run) {
        await run.requireInput('Really?')
        return 'done'
      },
    })
    const configuration = { taskPushNotificationConfig: { url: hook.url, token: 'inline' } }
    const sent = await call<wire.SendMessageResponse>('SendMessage', { message: MESSAGE, configuration })
    expect(sent.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    await call('SendMessage', { message: { ...MESSAGE, messageId: 'm-2', taskId: sent.task?.id } })
    await until(() => summariesOf(hook.received).includes('completed'))
    expect(summariesOf(hook.received)[0]).toMatch(/^task /)
    expect(hook.received.map(({ headers }) => headers['x-a2a-notification-token'])).toContain('inline')
  })

  test('in 0.1 receives the whole task', async () => {
    const hook = await receiver()
    const { call, task, tasks } = pushAgent({ dialects: [v1(), v0_1()] })
    const [id, legacy] = [task(), { version: '0.1' }]
    const pushNotificationConfig = { url: hook.url, token: 't' }
    const made = await call('tasks/pushNotification/set', { id, pushNotificationConfig }, legacy)
    expect(await call('tasks/pushNotification/get', { id }, legacy)).toEqual(made)
    await hook.arrived(1)
    tasks.updateTask(id, { state: 'canceled' })
    const bodies = (await hook.arrived(2)).map(({ body }) => body as unknown as LegacyTask)
    expect(bodies.map(({ status }) => status.state)).toEqual(['submitted', 'canceled'])
  })

  test('that was named with an answer receives the task from then on', async () => {
    const hook = await receiver()
    const { call, handler } = pushAgent({
      async execute(run: Run) {
        await run.requireInput('Really?')
        return 'done'
      },
      push: { maxPerTask: 1 },
    })
    const { task } = await call<wire.SendMessageResponse>('SendMessage', { message: MESSAGE })
    const answer = {
      message: { ...MESSAGE, messageId: 'm-2', taskId: task?.id },
      configuration: { taskPushNotificationConfig: { url: hook.url } },
    }
    await call('SendMessage', answer)
    await until(async () => (await handler.push.health(task?.id))[0]?.state === 'done')
    expect(summariesOf(hook.received).at(-1)).toMatch(/completed/)
  })

  test('that comes with each message of a conversation is one, and is enabled once more', async () => {
    const hook = await receiver(410)
    const { call, handler } = pushAgent({
      async execute(run: Run) {
        for (const question of ['One?', 'Two?', 'Three?']) await run.requireInput(question)
      },
      push: { maxPerTask: 2 },
    })
    const configuration = { taskPushNotificationConfig: { url: hook.url, token: 'secret' } }
    const send = async (taskId?: string) => {
      const message = { ...MESSAGE, messageId: crypto.randomUUID(), ...(taskId && { taskId }) }
      return (await call<wire.SendMessageResponse>('SendMessage', { message, configuration })).task?.id ?? ''
    }
    const taskId = await send()
    await until(async () => (await handler.push.health(taskId))[0]?.state === 'disabled')
    for (let answers = 0; answers < 3; answers += 1) await send(taskId)
    await until(async () => (await handler.push.health(taskId))[0]?.state === 'done')
    expect(await handler.push.health(taskId)).toHaveLength(1)
    expect(summariesOf(hook.accepted)).toEqual([
      'task input_required',
      ...['working', 'input_required', 'working', 'input_required', 'working', 'completed'],
    ])
  })

  test('that is refused takes its message with it', async () => {
    const { call, tasks } = pushAgent()
    const configuration = { taskPushNotificationConfig: { url: 'http://10.0.0.1/' } }
    const sending = call('SendMessage', { message: MESSAGE, configuration })
    await expect(sending).rejects.toThrow('-32602')
    expect(tasks.listTasks()).toEqual([])
  })

  test('does not receive a message that was answered without a task', async () => {
    const hook = await receiver()
    const { call, handler } = pushAgent({ execute: (run: Run) => run.reply('Hello') })
    const configuration = { taskPushNotificationConfig: { url: hook.url } }
    await call('SendMessage', { message: MESSAGE, configuration })
    expect(await handler.push.health()).toEqual([])
  })
})

interface LegacyTask {
  readonly kind: string
  readonly status: { readonly state: string }
  readonly artifacts?: readonly object[]
}

describe('configurations', () => {
  const url = 'http://127.0.0.1:9999/'
  const push = { fetch: () => Promise.resolve(new Response()) }

  test('77, 78, 80, 81, 83. are made, read, listed in pages and deleted, also on a task that has ended', async () => {
    const { call, create, task, tasks } = pushAgent({ push })
    const taskId = task()
    tasks.updateTask(taskId, { state: 'canceled' })
    const made = await create(taskId, { url, token: 't', authentication: { scheme: 'Basic' } })
    expect(made).toEqual({ taskId, id: made.id, url, token: 't', authentication: { scheme: 'Basic' } })
    expect(made.id).toMatch(/./)
    expect(await call('GetTaskPushNotificationConfig', { taskId, id: made.id })).toEqual(made)
    await create(taskId, { url, id: 'two' })
    await create(taskId, { url, id: 'three' })
    const page = (more: object): Promise<wire.ListTaskPushNotificationConfigsResponse> =>
      call('ListTaskPushNotificationConfigs', { taskId, ...more })
    expect((await page({})).configs?.map(({ id }) => id)).toEqual([made.id, 'two', 'three'])
    const first = await page({ pageSize: 2 })
    expect(first.configs?.map(({ id }) => id)).toEqual([made.id, 'two'])
    const last = await page({ pageSize: 2, pageToken: first.nextPageToken })
    expect(last).toEqual({ configs: [{ taskId, url, id: 'three' }], nextPageToken: '' })
    await expect(page({ pageToken: 'x' })).rejects.toThrow('pageToken')
    // A page tells nothing of how many there are for other tasks.
    const other = task()
    for (const id of ['one', 'two', 'three']) await create(other, { url, id })
    const pageOfOther = await call('ListTaskPushNotificationConfigs', { taskId: other, pageSize: 2 })
    expect(pageOfOther).toMatchObject({ nextPageToken: first.nextPageToken })
    for (const id of ['two', 'two', 'never']) {
      expect(await call('DeleteTaskPushNotificationConfig', { taskId, id })).toBe(null)
    }
    expect((await page({})).configs?.map(({ id }) => id)).toEqual([made.id, 'three'])
    await expect(call('GetTaskPushNotificationConfig', { taskId, id: 'two' })).rejects.toThrow('-32001')
  })

  test('with the same id replace each other', async () => {
    const [old, hook] = [await receiver(), await receiver()]
    const { create, task, handler, tasks } = pushAgent()
    const taskId = task()
    await create(taskId, { id: 'one', url: old.url })
    await old.arrived(1)
    await create(taskId, { id: 'one', url: hook.url })
    await hook.arrived(1)
    tasks.updateTask(taskId, { state: 'working' })
    expect(summariesOf(await hook.arrived(2))).toEqual(['task submitted', 'working'])
    expect(old.received).toHaveLength(1)
    expect(await handler.push.health(taskId)).toHaveLength(1)
  })

  test('again on a task that has ended report its end again', async () => {
    const hook = await receiver()
    const { create, task, tasks, handler } = pushAgent()
    const taskId = task()
    tasks.updateTask(taskId, { state: 'failed' })
    const config = { id: 'one', url: hook.url }
    await create(taskId, config)
    await hook.arrived(1)
    await until(async () => (await handler.push.health(taskId))[0]?.state === 'done')
    await create(taskId, config)
    expect(summariesOf(await hook.arrived(2))).toEqual(['task failed', 'task failed'])
  })

  test('are as many as a task may have, however they come', async () => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const resolve = async (): Promise<string[]> => {
      await released
      return ['203.0.113.1'.replace('203.0.113', '8.8.8')]
    }
    const { create, call, task, handler } = pushAgent({ push: { ...push, resolve, maxPerTask: 2 } })
    const taskId = task()
    const named = { url: 'https://hook.example/' }
    const together = [1, 2, 3].map(() => create(taskId, named))
    release()
    const outcomes = await Promise.allSettled(together)
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect(await handler.push.health(taskId)).toHaveLength(2)
    const [{ id } = { id: '' }] = await handler.push.health(taskId)
    await create(taskId, { ...named, id })
    await expect(create(taskId, { ...named, id: 'three' })).rejects.toThrow('maxPerTask')
    await call('DeleteTaskPushNotificationConfig', { taskId, id })
    await create(taskId, { ...named, id: 'three' })
    expect(await handler.push.health(taskId)).toHaveLength(2)
  })

  test('of 0.3 are found without an id: the latest', async () => {
    const { call, create, task } = pushAgent({ push })
    const taskId = task()
    await create(taskId, { url, id: 'one' })
    await create(taskId, { url, id: 'two' })
    const found = await call('tasks/pushNotificationConfig/get', { id: taskId }, { version: '0.3' })
    expect(found).toMatchObject({ taskId, pushNotificationConfig: { id: 'two', url } })
    // The latest also where it takes another one's place.
    await create(taskId, { url: `${url}again`, id: 'one' })
    const latest = await call('tasks/pushNotificationConfig/get', { id: taskId }, { version: '0.3' })
    expect(latest).toMatchObject({ taskId, pushNotificationConfig: { id: 'one', url: `${url}again` } })
  })

  test('79. are visible only to the owner of the task', async () => {
    const { call, create, tasks, handler } = pushAgent<{ id: string }>({
      push: { ...push, maxPerTask: 1 },
      authenticate: () => null,
    })
    const [ann, bob] = [{ principal: { id: 'ann' } }, { principal: { id: 'bob' } }]
    const taskId = tasks.createTask({ skill: 'test', owner: 'ann' }).id
    await create(taskId, { id: 'one', url }, ann)
    const inline = { message: { ...MESSAGE, taskId }, configuration: { taskPushNotificationConfig: { url } } }
    for (const [method, params] of [
      ['CreateTaskPushNotificationConfig', { taskId, url }],
      ['GetTaskPushNotificationConfig', { taskId, id: 'one' }],
      ['ListTaskPushNotificationConfigs', { taskId }],
      ['DeleteTaskPushNotificationConfig', { taskId, id: 'one' }],
      ['SendMessage', inline],
    ] as const) {
      const refusals = [taskId, 'none'].map(async (id) => {
        const asked =
          'message' in params
            ? { ...params, message: { ...params.message, taskId: id } }
            : { ...params, taskId: id }
        const error: unknown = await call(method, asked, bob).catch((reason: unknown) => reason)
        return String(error)
          .replaceAll(id, '…')
          .replace(/"timestamp":"[^"]*"/, '')
      })
      const [theirs, missing] = await Promise.all(refusals)
      expect(theirs).toContain('-32001')
      expect(theirs).toBe(missing)
    }
    expect(await handler.push.health(taskId)).toHaveLength(1)
  })

  test('go with their task', async () => {
    const hook = await receiver((response) => response.writeHead(503).end())
    const tasks = new TaskManager({ maxTasks: 1, whenFull: 'evict-terminal' })
    const { create, handler, clock, errors } = pushAgent({ tasks })
    const { id } = tasks.createTask({ skill: 'test' })
    await create(id, { url: hook.url })
    tasks.updateTask(id, { state: 'working' })
    tasks.updateTask(id, { state: 'completed' })
    await until(async () => (await handler.push.health(id))[0]?.state === 'retrying')
    tasks.createTask({ skill: 'another' })
    expect(await handler.push.health()).toEqual([])
    // What has happened is still delivered.
    clock.advance(1_000)
    await until(() => summariesOf(hook.received).includes('completed'))
    expect(errors).toEqual([])
  })

  test('end with a task that expires, and onError receives what was not delivered', async () => {
    const hook = await receiver(503)
    const options = pushAgent()
    const tasks = new TaskManager({ expiryMs: 1_000, clock: options.clock })
    const { create, handler, errors } = pushAgent({ tasks })
    const { id } = tasks.createTask({ skill: 'test' })
    await create(id, { url: hook.url })
    await until(async () => (await handler.push.health(id))[0]?.state === 'retrying')
    options.clock.advance(2_000)
    tasks.prune()
    expect(await handler.push.health()).toEqual([])
    expect(errors).toMatchObject([{ context: { during: 'push', taskId: id } }])
    expect(String(errors[0]?.error)).toContain('its task has expired')
  })
})

describe('push notifications', () => {
  const card = { name: 'Push', url: 'https://push.example' }
  const execute = (): string => 'done'

  test('are what the card says, or the option', () => {
    const saying = { ...card, capabilities: { pushNotifications: true } }
    const says = (handler: { card: wire.AgentCard }): unknown => handler.card.capabilities.pushNotifications
    expect(says(createRequestHandler({ card: saying, execute }))).toBe(true)
    expect(says(createRequestHandler({ card, execute, push: {} }))).toBe(true)
    expect(says(createRequestHandler({ card, execute }))).not.toBe(true)
    expect(says(createRequestHandler({ card, execute, push: false }))).not.toBe(true)
    expect(() => createRequestHandler({ card: saying, execute, push: false })).toThrow(TypeError)
  })

  test('that are turned off are refused before the task is looked up, with a message too', async () => {
    const { dispatch, push, tasks } = createRequestHandler({ card, execute })
    const inline = {
      message: MESSAGE,
      configuration: { taskPushNotificationConfig: { url: 'https://a.example' } },
    }
    for (const [method, params] of [
      ['CreateTaskPushNotificationConfig', { taskId: 'none', url: 'https://a.example' }],
      ['GetTaskPushNotificationConfig', { taskId: 'none', id: 'one' }],
      ['ListTaskPushNotificationConfigs', { taskId: 'none' }],
      ['DeleteTaskPushNotificationConfig', { taskId: 'none', id: 'one' }],
      ['SendMessage', inline],
      ['SendStreamingMessage', inline],
    ] as const) {
      expect(await dispatch({ jsonrpc: '2.0', id: 1, method, params })).toMatchObject({
        error: { code: -32003 },
      })
    }
    expect(tasks.listTasks()).toEqual([])
    expect([await push.health(), await push.deadLetters(), await push.redeliver('a', 'b')]).toEqual([
      [],
      [],
      false,
    ])
  })

  test.each<[string, unknown, string]>([
    ['null', null, '"push"'],
    ['true', true, '"push"'],
    ['an unknown option', { alow: [] }, 'alow'],
    ['no host', { allow: ['http://a/'] }, '"push.allow"'],
    ['no function to resolve', { resolve: true }, '"push.resolve"'],
    ['no function to fetch', { fetch: {} }, '"push.fetch"'],
    ['no function of chance', { random: 1 }, '"push.random"'],
    ['no time', { timeoutMs: 0 }, '"push.timeoutMs"'],
    ['half an attempt', { maxAttempts: 1.5 }, '"push.maxAttempts"'],
    ['a text', { maxPerTask: '3' }, '"push.maxPerTask"'],
    ['too many', { maxConcurrent: Infinity }, '"push.maxConcurrent"'],
    ['pauses the wrong way round', { retryMinMs: 2, retryMaxMs: 1 }, '"push.retryMinMs"'],
  ])('refuse options that are invalid: %s', (_, push, name) => {
    // As JavaScript would pass it.
    const given = push as PushOptions
    expect(() => createRequestHandler({ card, execute, push: given })).toThrow(name)
  })

  test('need the addresses of names, unless resolve is false', () => {
    const { process } = globalThis
    const builtin = process.getBuiltinModule.bind(process)
    try {
      Object.defineProperty(process, 'getBuiltinModule', {
        value: undefined,
        configurable: true,
        writable: true,
      })
      expect(() => createRequestHandler({ card, execute, push: {} })).toThrow('"push.resolve" is required')
      createRequestHandler({ card, execute, push: { resolve: false } })
    } finally {
      Object.defineProperty(process, 'getBuiltinModule', {
        value: builtin,
        configurable: true,
        writable: true,
      })
    }
  })
})
