/** Over a store, a task is stored before its code runs, and a reply leaves none behind. */
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import { as, authenticate, call, gate, jsonRpc, stateName, user } from '../spec/support/agent.js'
import { sharedStore } from './support/push.js'
import {
  begin,
  cluster,
  get,
  holdUp,
  pass,
  replicas,
  settle,
  textOf,
  type Replica,
} from './support/replicas.js'
import { receiver, summariesOf, until } from '../push/support/push.js'

const NOW = { configuration: { returnImmediately: true } }

/** Announces a reply, which is made when `say` is opened. */
function replying(): {
  readonly execute: Execute
  readonly texts: string[]
  readonly say: (text: string) => void
} {
  const texts: string[] = []
  const said = gate<string>()
  return {
    texts,
    say: said.open,
    execute: (run) => {
      texts.push(run.text)
      return run.reply(said.opened)
    },
  }
}

describe('the code of a message', () => {
  test('runs once its task is stored', async () => {
    const seen: unknown[] = []
    const { a, b } = replicas(async (run) => {
      seen.push((await b.tasks.getTask(run.taskId))?.messages.map(({ parts }) => parts))
      return 'done'
    })
    await begin(a, 'go')
    await settle()
    expect(seen).toEqual([[[{ text: 'go' }]]])
  })

  test('runs once a later message is stored, too', async () => {
    const runs: string[] = []
    const { a, clock } = replicas((run) => {
      runs.push(run.text)
      if (runs.length === 1) run.requireInput('Which?').catch(() => undefined)
    })
    const { id } = await begin(a, 'go')
    await settle()
    a.store.fail('commit', 'acquire')
    let isAnswered = false
    const params = { message: user('this', { taskId: id }), ...NOW }
    const sent = call(jsonRpc, a, 'SendMessage', params).finally(() => (isAnswered = true))
    await pass(clock, () => isAnswered)
    expect((await sent).error?.reason).toBe('UNAVAILABLE')
    expect(runs).toEqual(['go'])
  })

  test('does not begin when the store is down, with retries of the code either', async () => {
    let runs = 0
    const { a, b, clock } = replicas(() => void (runs += 1), { retry: { attempts: 3 } })
    a.store.fail()
    let isAnswered = false
    const sent = call(jsonRpc, a, 'SendMessage', { message: user('go') }).finally(() => (isAnswered = true))
    await pass(clock, () => isAnswered)
    expect((await sent).error?.reason).toBe('UNAVAILABLE')
    clock.advance(60_000)
    await settle()
    expect(runs).toBe(0)
    expect(await b.tasks.size()).toBe(0)
  })

  test('continues in another process when its own dies before the first await', async () => {
    const texts: string[] = []
    const dying: Execute = () => {
      a.store.fail()
      return new Promise(() => undefined)
    }
    const { a, b, clock } = replicas([
      dying,
      (run) => {
        texts.push(`${run.attempt}: ${run.text}`)
        return 'done'
      },
    ])
    void call(jsonRpc, a, 'SendMessage', { message: user('go') })
    const isEnded = async (): Promise<boolean> => (await b.tasks.listTasks({ state: 'completed' })).length > 0
    await pass(clock, isEnded)
    expect(texts).toEqual(['1: go'])
    expect(await b.tasks.size()).toBe(1)
  })

  test('announces its task only once it has one', async () => {
    const { execute, say } = replying()
    const { a } = replicas(execute)
    const events: string[] = []
    a.tasks.on('task:event', ({ type }) => events.push(type))
    a.tasks.on('task:created', () => events.push('task:created'))
    const sent = call(jsonRpc, a, 'SendMessage', { message: user('hi') })
    await settle()
    say('hello')
    expect((await sent).result?.message?.parts).toEqual([{ text: 'hello' }])
    expect(events).toEqual([])
  })

  test('announces everything in order when it has', async () => {
    const { a } = replicas(() => 'done')
    const events: string[] = []
    a.tasks.on('task:event', ({ type }) => events.push(type))
    await call(jsonRpc, a, 'SendMessage', { message: user('hi') })
    expect(events).toEqual(['created', 'message', 'status', 'artifact', 'status'])
  })
})

describe('a reply', () => {
  test('leaves no task, lease or document behind', async () => {
    const { execute, say } = replying()
    const { all, store, clock } = cluster([execute], {})
    const [a] = all
    if (a === undefined) throw new Error('There is one')
    const sent = call(jsonRpc, a, 'SendMessage', { message: user('hi') })
    await settle()
    expect(await store.count({})).toBe(1)
    say('hello')
    await sent
    expect(await store.count({})).toBe(0)
    clock.advance(100_000)
    await settle()
    expect(await store.orphans(10)).toEqual([])
    expect(a.errors).toEqual([])
  })

  test('that cannot remove its task is refused, and leaves the task to be recovered', async () => {
    const { execute, say } = replying()
    const { a, clock } = replicas(execute)
    let isAnswered = false
    const sent = call(jsonRpc, a, 'SendMessage', { message: user('hi') }).finally(() => (isAnswered = true))
    await settle()
    a.store.fail()
    say('hello')
    await pass(clock, () => isAnswered)
    expect((await sent).error?.reason).toBe('UNAVAILABLE')
  })

  test('completes the task if a repeated message was answered with it before', async () => {
    const { execute, say, texts } = replying()
    const { a, b, clock } = replicas(execute, { authenticate, onFollowUp: () => 'steer' })
    const message = user('hi')
    const first = call(jsonRpc, a, 'SendMessage', { message }, as('ada'))
    await settle()
    const again = await call(jsonRpc, b, 'SendMessage', { message, ...NOW }, as('ada'))
    const id = again.result?.task?.id ?? ''
    expect(again.result?.task?.status.state).toBe('TASK_STATE_WORKING')
    say('hello')
    let answered: Awaited<typeof first> | undefined
    void first.then((answer) => (answered = answer))
    await pass(clock, () => answered !== undefined)
    expect(answered?.result?.task).toMatchObject({
      id,
      status: { state: 'TASK_STATE_COMPLETED', message: { parts: [{ text: 'hello' }] } },
    })
    expect(texts).toEqual(['hi'])
    expect(await a.tasks.size()).toBe(1)
  })

  test('is not awaited by a task whose code asks while the same message arrives elsewhere', async () => {
    const asking = gate<undefined>()
    const { way, next } = holdUp('commit')
    const execute: Execute = async (run) => {
      await asking.opened
      return textOf(await run.requireInput('Which?'))
    }
    const [a, b] = cluster([execute, execute], { authenticate }, (store, at) =>
      at === 1 ? way(store) : store,
    ).all as [Replica, Replica]
    const message = user('hi')
    const first = call(jsonRpc, a, 'SendMessage', { message }, as('ada'))
    await settle()
    const { called, go } = next()
    const again = call(jsonRpc, b, 'SendMessage', { message }, as('ada'))
    await called
    asking.open(undefined)
    expect((await first).result?.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    go()
    expect((await again).result?.task?.status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    const { id = '' } = (await first).result?.task ?? {}
    expect((await a.tasks.getTask(id))?.state).toBe('input-required')
  })

  test('comes too late for a task that was canceled', async () => {
    const { execute, say } = replying()
    const began = gate<Run>()
    const { a, b, clock } = replicas((run) => {
      began.open(run)
      return execute(run)
    })
    let isAnswered = false
    const sent = call(jsonRpc, a, 'SendMessage', { message: user('hi') }).finally(() => (isAnswered = true))
    const { taskId, signal } = await began.opened
    await call(jsonRpc, b, 'CancelTask', { id: taskId })
    await pass(clock, () => isAnswered)
    expect((await sent).result?.task?.status.state).toBe('TASK_STATE_CANCELED')
    expect(signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
    say('hello')
    await settle()
    expect(stateName((await get(b, taskId)).status.state)).toBe('canceled')
  })

  test('completes a task whose process died before the reply', async () => {
    const dead: Execute = (run) => run.reply(new Promise(() => undefined))
    const { a, b, clock } = replicas([dead, (run) => run.reply(`reply to ${run.text}`)])
    void call(jsonRpc, a, 'SendMessage', { message: user('hi') })
    await settle()
    a.store.fail()
    const ended = async (): Promise<boolean> => (await b.tasks.listTasks({ state: 'completed' })).length > 0
    await pass(clock, ended)
    const [task] = await b.tasks.listTasks()
    expect(task?.messages.map(({ parts }) => parts[0]?.text)).toEqual(['hi', 'reply to hi'])
  })

  test('is refused after the code has gone on without it', async () => {
    const errors: unknown[] = []
    const { a } = replicas(async (run) => {
      const replied = run.reply('hello')
      await Promise.resolve()
      try {
        run.update('more')
      } catch (error) {
        errors.push(error)
      }
      await replied
    })
    const { result } = await call(jsonRpc, a, 'SendMessage', { message: user('hi') })
    expect(result?.message?.parts).toEqual([{ text: 'hello' }])
    expect(errors).toMatchObject([{ message: 'run.reply() has answered: there is no task' }])
  })
})

describe('the webhook of a message', () => {
  const sent = (url: string, text: string): object => ({
    message: user(text),
    configuration: { taskPushNotificationConfig: { url } },
  })

  test('receives every event of its task', async () => {
    const hook = await receiver()
    const a = sharedStore().open({
      async execute(run) {
        run.start()
        await hook.arrived(1)
        return 'done'
      },
    })
    await a.call('SendMessage', sent(hook.url, 'go'))
    await until(() => summariesOf(hook.accepted).includes('completed'))
    expect(summariesOf(hook.accepted)).toEqual(['task working', 'artifact done', 'completed'])
  })

  test('is not kept when a reply leaves no task', async () => {
    const hook = await receiver()
    const { open, store } = sharedStore()
    const a = open({ execute: (run) => run.reply('hello') })
    expect(await a.call('SendMessage', sent(hook.url, 'hi'))).toMatchObject({
      message: { parts: [{ text: 'hello' }] },
    })
    expect(hook.received).toEqual([])
    expect(await store.count({})).toBe(0)
    expect(await a.handler.push.deadLetters()).toEqual([])
  })
})
