import type { Run, Execute } from 'a2a-tasks/server'
import type { TaskStore } from 'a2a-tasks/durable'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import {
  as,
  authenticate,
  call,
  gate,
  jsonRpc,
  nameOf,
  open,
  refused,
  stateName,
  textsOf,
  user,
  type Gate,
} from '../spec/support/agent.js'
import {
  begin,
  cluster,
  get,
  holdUp,
  pass,
  replicas,
  saidIn,
  send,
  settle,
  stream,
  subscribe,
  textOf,
  type Replica,
} from './support/replicas.js'
import { expectWarnings } from '../../support/warnings.js'

const forEver: Execute = async (run) => {
  run.start()
  await new Promise(() => undefined)
}

const asking: Execute = async (run) => `You said ${textOf(await run.requireInput('Which?'))}`

/** Goes on until it is aborted, with the signal's reason. */
const untilAborted =
  (began: Gate<Run>): Execute =>
  async (run) => {
    run.start()
    began.open(run)
    await new Promise((_, reject) =>
      run.signal.addEventListener('abort', () => reject(run.signal.reason as Error)),
    )
  }

const FAIL = { manager: { recover: 'fail' } } as const

const state = async (at: Replica, id: string): Promise<string> => stateName((await get(at, id)).status.state)

describe('a process that dies', () => {
  test('leaves tasks that fail, which streams elsewhere receive', async () => {
    const { a, b, clock } = replicas(forEver, FAIL)
    const { id } = await begin(a, 'go')
    await settle()
    const events = await subscribe(b, id)
    expect((await events.next())?.value.task?.status.state).toBe('TASK_STATE_WORKING')
    a.store.fail()
    await pass(clock, async () => (await state(b, id)) === 'failed')
    expect((await events.rest()).map(nameOf)).toEqual(['failed'])
  })

  test('leaves no client without an answer that waits elsewhere', async () => {
    const { a, b, clock } = replicas(forEver, FAIL)
    const { id } = await begin(a, 'go')
    await settle()
    const sent = send(b, 'and?', id)
    await settle()
    a.store.fail()
    await pass(clock, async () => (await state(b, id)) === 'failed')
    expect(stateName((await sent).status.state)).toBe('failed')
  })

  test('leaves a task that waits for the user waiting: the answer continues its turn elsewhere', async () => {
    const { a, b, clock } = replicas(asking)
    const { id } = await send(a, 'go')
    a.store.fail()
    await pass(clock, () => clock.now() >= Date.parse('2026-01-01T00:02:00Z'))
    expect(await state(b, id)).toBe('input-required')
    expect(textsOf(await send(b, 'this', id))).toEqual(['You said this'])
  })

  test('has its runs aborted with the reason, and writes nothing any more', async () => {
    const began = gate<Run>()
    const { a, b, clock } = replicas(untilAborted(began), FAIL)
    const waiting = call(jsonRpc, a, 'SendMessage', { message: user('go') })
    const run = await began.opened
    const { id } = run.task
    await settle()
    a.store.fail()
    await pass(clock, async () => (await state(b, id)) === 'failed')
    a.store.mend()
    await pass(clock, () => run.signal.aborted)
    expect(() => run.artifact('late')).toThrow(
      `Task ${id} was failed by another process, because the lease of this one was not renewed in time`,
    )
    expect((await waiting).result?.task?.status.state).toBe('TASK_STATE_FAILED')
    expect(textsOf(await get(b, id))).toEqual([])
  })

  test("with recover: 'resume' has its runs begun again elsewhere, with what the request had", async () => {
    const seen: unknown[] = []
    const again: Execute<{ id: string; name?: string }> = (run) => {
      const { text, metadata, principal, acceptedOutputModes, tenant } = run
      seen.push({ text, metadata, principal, acceptedOutputModes, tenant })
      return 'done again'
    }
    const { a, b, clock } = replicas([forEver, again as Execute], {
      authenticate,
      principalOf: (id) => Promise.resolve({ id, name: 'Known' }),
      manager: { recover: 'resume' },
    })
    const configuration = { returnImmediately: true, acceptedOutputModes: ['text/plain'] }
    const params = { message: user('go'), configuration, metadata: { trace: 7 }, tenant: 'acme' }
    const { result } = await call(jsonRpc, a, 'SendMessage', params, as('alice'))
    const id = result?.task?.id ?? ''
    const more = { message: user('more', { taskId: id }), tenant: 'acme', metadata: { trace: 8 } }
    void call(jsonRpc, b, 'SendMessage', more, as('alice'))
    await settle()
    const events = await open(jsonRpc, b, 'SubscribeToTask', { id, tenant: 'acme' }, as('alice'))
    expect((await events.next())?.value.task?.status.state).toBe('TASK_STATE_WORKING')
    a.store.fail()
    await pass(clock, () => seen.length > 1)
    const names = (await events.rest()).map(nameOf)
    expect(names.filter((name) => name.startsWith('artifact'))).toEqual(Array(2).fill('artifact:done again'))
    expect(names.at(-1)).toBe('completed')
    const always = { principal: { id: 'alice', name: 'Known' }, tenant: 'acme' }
    expect(seen).toEqual([
      { text: 'go', metadata: { trace: 7 }, acceptedOutputModes: ['text/plain'], ...always },
      { text: 'more', metadata: { trace: 8 }, acceptedOutputModes: [], ...always },
    ])
  })

  test("with recover: 'resume' and no principalOf: there is no principal, and one warning", async () => {
    const warnings = expectWarnings(/^A run was restarted without "run.principal"$/)
    const seen: unknown[] = []
    const again: Execute = ({ principal }) => void seen.push(principal)
    const { a, clock } = replicas([forEver, again], { authenticate, manager: { recover: 'resume' } })
    for (const text of ['one', 'two']) {
      const params = { message: user(text), configuration: { returnImmediately: true } }
      await call(jsonRpc, a, 'SendMessage', params, as('alice'))
    }
    a.store.fail()
    await pass(clock, () => seen.length === 2)
    expect(seen).toEqual([undefined, undefined])
    await settle()
    expect(warnings).toHaveLength(1)
  })

  test("with recover: 'resume' and a principal that cannot be found: the task fails", async () => {
    const { a, b, clock } = replicas(forEver, {
      authenticate,
      principalOf: () => Promise.reject(new Error('no directory')),
      manager: { recover: 'resume' },
    })
    const params = { message: user('go'), configuration: { returnImmediately: true } }
    const { result } = await call(jsonRpc, a, 'SendMessage', params, as('alice'))
    const id = result?.task?.id ?? ''
    a.store.fail()
    await pass(clock, async () => (await b.tasks.stateOf(id)) === 'failed')
    expect(b.errors).toMatchObject([{ error: { message: 'no directory' }, context: { taskId: id } }])
  })
})

describe('close', () => {
  test('hands over what waits for the user', async () => {
    const { a, b } = replicas(asking)
    const { id } = await send(a, 'go')
    await a.handler.close({ graceMs: 0 })
    expect(textsOf(await send(b, 'this', id))).toEqual(['You said this'])
    expect(a.errors).toEqual([])
  })

  test('lets runs end, and stores their results', async () => {
    const ended = gate()
    const { a, b } = replicas(async (run) => {
      run.start()
      await ended.opened
      return 'done'
    })
    const { id } = await begin(a, 'go')
    await settle()
    const closed = a.handler.close({ graceMs: 1_000 })
    ended.open()
    await closed
    expect(textsOf(await get(b, id))).toEqual(['done'])
  })

  test('fails runs that do not end, and every process reports it at once', async () => {
    const { a, b, clock } = replicas(forEver, FAIL)
    const { id } = await begin(a, 'go')
    await settle()
    const events = await subscribe(b, id)
    await events.next()
    const closed = a.handler.close({ graceMs: 1_000 })
    clock.advance(1_000)
    await closed
    expect(await state(b, id)).toBe('failed')
    expect((await events.rest()).map(nameOf)).toEqual(['failed'])
  })

  test('fails a task whose answer came too late for it to be handed over', async () => {
    const { a, b, clock } = replicas(asking)
    const { id } = await send(a, 'go')
    const closed = a.handler.close({ graceMs: 0 })
    const sent = send(b, 'this', id)
    await pass(clock, () => Promise.race([closed.then(() => true), turn().then(() => false)]))
    const task = await sent
    // Whichever was first, there is an answer.
    expect(['completed', 'failed', 'input-required']).toContain(stateName(task.status.state))
    expect(saidIn(task)).toContain('this')
  })

  test('takes no more', async () => {
    const { a } = replicas(asking)
    const { id } = await send(a, 'go')
    await a.handler.close({ graceMs: 0 })
    const { error } = await call(jsonRpc, a, 'SendMessage', { message: user('this', { taskId: id }) })
    expect(error?.reason).toBe('UNAVAILABLE')
    expect(await state(a, id)).toBe('input-required')
  })
})

/** What clients read of it. */
const AWAY = 'The agent cannot reach its tasks now; try again later'

describe('a store that fails', () => {
  test('while a task is created: the client gets an error, and there is no run and no task', async () => {
    let runs = 0
    const { a, b, clock } = replicas(() => void (runs += 1))
    a.store.fail('create')
    let isAnswered = false
    const sent = call(jsonRpc, a, 'SendMessage', { message: user('go') }).finally(() => (isAnswered = true))
    await pass(clock, () => isAnswered)
    const { error } = await sent
    expect(runs).toBe(0)
    expect(error).toMatchObject({ reason: 'UNAVAILABLE', message: AWAY })
    expect(await b.tasks.size()).toBe(0)
    expect(a.errors).toMatchObject([{ error: { code: 'STORE_FAILED' } }])
  })

  test('while a task is created for a stream: there is no stream', async () => {
    const { a, clock } = replicas(forEver)
    a.store.fail('create')
    const request = jsonRpc.request('SendStreamingMessage', { message: user('go') })
    let response: Response | undefined
    void a.handler.fetch(request).then((answer) => {
      response = answer
    })
    await pass(clock, () => response !== undefined)
    expect(await response?.json()).toMatchObject({ error: { message: AWAY } })
  })

  test('while a message is accepted: no response comes before it is stored', async () => {
    const { a, b, clock } = replicas(asking)
    const { id } = await send(a, 'go')
    a.store.fail('commit')
    let isAnswered = false
    const sent = begin(a, 'this', id).finally(() => {
      isAnswered = true
    })
    await settle()
    expect(isAnswered).toBe(false)
    a.store.mend()
    await pass(clock, () => isAnswered)
    expect(saidIn(await sent)).toContain('this')
    expect(saidIn(await get(b, id))).toContain('this')
  })

  test('for too long while a message is accepted: the client gets an error', async () => {
    const { a, clock } = replicas(asking)
    const { id } = await send(a, 'go')
    a.store.fail('commit')
    const params = { message: user('this', { taskId: id }), configuration: { returnImmediately: true } }
    const refusal = refused(jsonRpc, a, 'SendMessage', params)
    await pass(clock, () => a.errors.length > 0)
    expect(await refusal).toMatchObject({ message: AWAY })
  })

  test('for a moment: no client notices', async () => {
    const { a, b, clock } = replicas(async (run) => {
      run.artifact('1')
      await settle()
      run.artifact('2')
    })
    const events = await stream(a, 'go')
    a.store.fail('commit')
    await settle()
    a.store.mend()
    let names: string[] = []
    void events.rest().then((items) => {
      names = items.map(nameOf)
    })
    await pass(clock, () => names.length > 0)
    expect(names.slice(-3)).toEqual(['artifact:1', 'artifact:2', 'completed'])
    expect(a.errors).toEqual([])
    const [task] = await b.tasks.listTasks()
    expect(task?.artifacts).toHaveLength(2)
  })
})

describe('a message that arrives before any process has noticed the death of another', () => {
  const work: Execute = async (run) => {
    run.start()
    if (run.text === 'long') await new Promise(() => undefined)
    return `did ${run.text}`
  }
  const orphaned = async (
    recover: 'fail' | 'resume',
  ): Promise<{ b: Replica; id: string; texts: string[] }> => {
    const texts: string[] = []
    const later: Execute = (run) => {
      texts.push(run.text)
      return `did ${run.text}`
    }
    const { a, b, clock } = replicas([work, later], { manager: { recover, sweepIntervalMs: 1_000_000 } })
    const { id } = await begin(a, 'long')
    await settle()
    await begin(a, 'queued', id)
    a.store.fail()
    await pass(clock, () => b.tasks.lastSeen(id) === undefined)
    const end = clock.now() + 31_000
    await pass(clock, () => clock.now() >= end)
    return { b, id, texts }
  }

  test('comes after the interrupted work and the waiting messages', async () => {
    const { b, id, texts } = await orphaned('resume')
    expect(stateName((await send(b, 'more', id)).status.state)).toBe('completed')
    expect(texts).toEqual(['long', 'queued', 'more'])
  })

  test('finds a task that has failed, where nothing is done again', async () => {
    const { b, id, texts } = await orphaned('fail')
    await expect(send(b, 'more', id)).rejects.toThrow('terminal state: failed')
    expect(await state(b, id)).toBe('failed')
    expect(texts).toEqual([])
  })
})

test('a message to a process that died while it acquired the task is handled by the next process', async () => {
  const { way, next } = holdUp('acquire', 'after')
  const texts: string[] = []
  const execute: Execute = (run) => {
    texts.push(run.text)
    if (run.text === 'go') run.requireInput('Which?').catch(() => undefined)
    return run.text === 'go' ? undefined : `to ${run.text}`
  }
  const { all, clock } = cluster(
    [execute, execute, execute],
    { manager: { recover: 'resume' } },
    (store, at) => (at === 0 ? way(store) : store),
  )
  const [a, b, c] = all as [Replica, Replica, Replica]
  const { id } = await begin(b, 'go')
  await settle()
  const acquiring = next()
  begin(a, 'never stored', id).catch(() => undefined)
  await acquiring.called
  await begin(b, 'this', id)
  await begin(c, 'and that', id)
  a.store.fail()
  await pass(clock, async () => (await state(b, id)) === 'completed')
  expect(texts).toEqual(['go', 'this', 'and that'])
})

test('a message that a dead process left unread comes first, also where the answer to the acquisition is lost', async () => {
  const [committing, acquiring] = [holdUp('commit', 'after'), holdUp('acquire', 'after')]
  const execute: Execute = async (run) =>
    `${textOf(await run.requireInput('From?'))} to ${textOf(await run.requireInput('To?'))}`
  const options = { manager: { sweepIntervalMs: false }, onFollowUp: 'steer' } as const
  const { all, clock } = cluster([execute, execute], options, (store, at) =>
    (at === 0 ? committing : acquiring).way(store),
  )
  const [a, b] = all as [Replica, Replica]
  const { id } = await begin(a, 'go')
  await pass(clock, () => a.tasks.stats().leases === 0)
  const committed = committing.next()
  begin(a, 'Rome', id).catch(() => undefined)
  await committed.called
  a.store.fail()
  clock.advance(30_000)
  const acquired = acquiring.next()
  const accepted = begin(b, 'Lisbon', id)
  await acquired.called
  await pass(clock, async () => textOf((await get(b, id)).status.message ?? { parts: [] }) === 'To?')
  await accepted
  await begin(b, 'Paris', id)
  await pass(clock, async () => (await state(b, id)) === 'completed')
  expect(textsOf(await get(b, id))).toEqual(['Rome to Paris'])
})

test('a turn whose time has come continues, also where no answer to the acquisition of its lease arrives', async () => {
  let isLost = false
  const losing = (store: TaskStore): TaskStore =>
    new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name)
        if (name !== 'acquire' || !isLost)
          return typeof value === 'function' ? (value.bind(target) as unknown) : value
        return async (...given: Parameters<TaskStore['acquire']>) => {
          await target.acquire(...given)
          throw new Error('The answer is lost')
        }
      },
    })
  const execute: Execute = async (run) => {
    await run.sleep('pause', { ms: 600_000 })
    return 'done'
  }
  const { all, clock } = cluster([execute, execute], {}, (store, at) => (at === 0 ? store : losing(store)))
  const [a, b] = all as [Replica, Replica]
  const { id } = await begin(a, 'go')
  await pass(clock, () => a.tasks.stats().leases === 0)
  a.store.fail()
  b.store.fail('orphans')
  clock.advance(600_000)
  isLost = true
  let isRefused = false
  begin(b, 'more', id).catch(() => {
    isRefused = true
  })
  await pass(clock, () => isRefused)
  isLost = false
  b.store.mend()
  await pass(clock, async () => (await state(b, id)) === 'completed')
  expect(textsOf(await get(b, id))).toEqual(['done'])
})
