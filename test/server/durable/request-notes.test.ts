/** Request data stored with a message: available to any process that works on it, also after a restart. */
import type { Execute, Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import type { ManualClock } from 'a2a-tasks/testing'
import { as, authenticate, call, gate, jsonRpc, user, type Gate } from '../spec/support/agent.js'
import {
  begin,
  cluster,
  holdUp,
  pass,
  replicas,
  settle,
  textOf,
  type Replica,
  type ReplicasOptions,
} from './support/replicas.js'

interface Seen {
  readonly text: string
  readonly metadata: object
  readonly modes: readonly string[]
  readonly tenant: string | undefined
  readonly principal: object | undefined
}

const seenIn = ({ text, metadata, acceptedOutputModes: modes, tenant, principal }: Run): Seen => {
  return { text, metadata, modes, tenant, principal }
}

/** Works on the first message until it is told to end, and tells of each. */
function working(): { readonly execute: Execute; readonly seen: Seen[]; readonly ended: Gate<void> } {
  const seen: Seen[] = []
  const ended = gate()
  const execute: Execute = async (run) => {
    seen.push(seenIn(run))
    run.start()
    if (run.text === 'first') await ended.opened
    run.artifact(`to ${run.text}`)
  }
  return { execute, seen, ended }
}

const documents = async (at: Replica, id: string): Promise<string[]> => {
  const { createdAt = '' } = (await at.tasks.peekTask(id)) ?? {}
  return (await at.tasks.documents.documents({ id, createdAt }, 'request')).map((document) => document.id)
}

async function sendAs(
  who: string,
  at: Replica,
  text: string,
  more: { readonly taskId?: string; readonly messageId?: string } = {},
  beside: object = {},
): Promise<string> {
  const configuration = { returnImmediately: true, acceptedOutputModes: [`text/${text}`] }
  const params = { message: user(text, more), configuration, metadata: { of: text }, ...beside }
  const { result, error } = await call(jsonRpc, at, 'SendMessage', params, as(who))
  if (error !== undefined) throw new Error(error.message)
  return result?.task?.id ?? ''
}

const named = (text: string, principal: object | undefined = { id: 'alice' }): Seen => {
  return { text, metadata: { of: text }, modes: [`text/${text}`], tenant: 'acme', principal }
}

const TENANT = { tenant: 'acme' }

describe('a message that went through another process', () => {
  test('keeps its metadata, output modes, tenant and principal as long as it waits', async () => {
    const { execute, seen, ended } = working()
    const { a, b } = replicas([execute, () => 'not here'], { authenticate })
    const taskId = await sendAs('alice', a, 'first', {}, TENANT)
    await settle()
    await sendAs('alice', b, 'second', { taskId }, TENANT)
    await sendAs('alice', a, 'third', { taskId }, TENANT)
    expect(await documents(b, taskId)).toHaveLength(1)
    ended.open()
    await a.tasks.waitFor(taskId)
    await settle()
    expect(seen).toEqual([named('first'), named('second'), named('third')])
    expect(await documents(b, taskId)).toEqual([])
    expect([a.errors, b.errors]).toEqual([[], []])
  })

  test('leaves nothing behind where nothing came with it', async () => {
    const { execute, seen, ended } = working()
    const { a, b } = replicas(execute)
    const { id } = await begin(a, 'first')
    await settle()
    await begin(b, 'second', id)
    ended.open()
    await a.tasks.waitFor(id)
    expect(seen.map(({ text }) => text)).toEqual(['first', 'second'])
    expect(b.store.calls).not.toContain('putDocument')
  })

  test('keeps it as an answer that the run does not read', async () => {
    const asked = gate()
    const seen: Seen[] = []
    const execute: Execute = async (run) => {
      seen.push(seenIn(run))
      if (run.text !== 'first') return
      run.requireInput('Which?').catch(() => undefined)
      await asked.opened
    }
    const { a, b } = replicas(execute, { authenticate })
    const taskId = await sendAs('alice', a, 'first', {}, TENANT)
    await settle()
    await sendAs('alice', b, 'second', { taskId }, TENANT)
    await settle()
    asked.open()
    await a.tasks.waitFor(taskId)
    await settle()
    expect(seen).toEqual([named('first'), named('second')])
    expect(await documents(b, taskId)).toEqual([])
  })

  test('leaves nothing behind as an answer, or where it steers', async () => {
    const asking: Execute = async (run) => {
      await run.requireInput('Which?')
    }
    for (const [execute, onFollowUp] of [[asking, 'queue'] as const, [working().execute, 'steer'] as const]) {
      const { a, b } = replicas(execute, { authenticate, onFollowUp })
      const taskId = await sendAs('alice', a, 'first')
      await settle()
      await sendAs('alice', b, 'second', { taskId })
      await settle()
      expect(b.store.calls.filter((method) => method === 'putDocument')).toHaveLength(1)
      expect(await documents(b, taskId)).toEqual([])
    }
  })

  test('leaves nothing behind where it is refused', async () => {
    const { execute } = working()
    const { a, b } = replicas(execute, { authenticate, manager: { limits: { maxMessages: 1 } } })
    const taskId = await sendAs('alice', a, 'first')
    await settle()
    await expect(sendAs('alice', b, 'second', { taskId })).rejects.toThrow('maxMessages')
    expect(b.store.calls.filter((method) => method === 'putDocument')).toHaveLength(1)
    expect(await documents(b, taskId)).toEqual([])
  })

  test('is taken without what came with it, where its id is too long for that', async () => {
    const { execute, seen, ended } = working()
    const { a, b } = replicas(execute, { authenticate })
    const taskId = await sendAs('alice', a, 'first', {}, TENANT)
    await settle()
    await sendAs('alice', b, 'second', { taskId, messageId: 'é'.repeat(1_024) }, TENANT)
    ended.open()
    await a.tasks.waitFor(taskId)
    expect(seen[1]).toEqual({ ...named('second'), metadata: {}, modes: [] })
  })

  test('has the principal of the client whose message the process accepts at that moment', async () => {
    const seen: Seen[] = []
    const { way, next } = holdUp('commit')
    const execute: Execute = (run) => {
      seen.push(seenIn(run))
      if (run.text === 'first') run.requireInput('Which?').catch(() => undefined)
    }
    const options = { authenticate, preview: { generation: true } }
    const { all } = cluster([execute, execute], options, (store, at) => (at === 0 ? way(store) : store))
    const [a, b] = all as [Replica, Replica]
    const taskId = await sendAs('alice', a, 'first', {}, TENANT)
    await settle()
    const { generation } = (await b.tasks.peekTask(taskId)) ?? {}
    const params = {
      ...{ message: user('late', { taskId }), ...TENANT },
      configuration: { ifGenerationMatch: generation },
    }
    const { called, go } = next()
    const init = { headers: { ...as('alice').headers, 'A2A-Version': '1.1' } }
    const late = call(jsonRpc, a, 'SendMessage', params, init)
    await called
    await sendAs('alice', b, 'second', { taskId }, TENANT)
    go()
    expect((await late).error?.reason).toBe('TASK_GENERATION_MISMATCH')
    await settle()
    expect(seen).toEqual([named('first'), named('second')])
  })
})

/** Three processes: `a` never ends what it works on, and one of the others begins again. */
function mortal(
  execute: Execute,
  options: ReplicasOptions = {},
): { readonly all: readonly [Replica, Replica, Replica]; readonly clock: ManualClock } {
  const forEver: Execute = async (run) => {
    run.start()
    if (run.text === 'ends') {
      await settle()
      return
    }
    if (run.text === 'asks') await run.requireInput('Which?')
    await new Promise(() => undefined)
  }
  const { all, clock } = cluster([forEver, execute, execute], {
    authenticate,
    principalOf: (id) => ({ id }),
    ...options,
    manager: { recover: 'resume' },
  })
  return { all: all as unknown as [Replica, Replica, Replica], clock }
}

describe('work that begins again', () => {
  test('is the message that was worked on, and then those that waited, in their order', async () => {
    const { execute, seen, ended } = working()
    const { all, clock } = mortal(execute, { principalOf: (id) => ({ id }) })
    const [a, b] = all
    const taskId = await sendAs('alice', a, 'first', {}, TENANT)
    await settle()
    await sendAs('alice', a, 'second', { taskId }, TENANT)
    await sendAs('alice', b, 'third', { taskId }, TENANT)
    await settle()
    a.store.fail()
    ended.open()
    await pass(clock, async () => (await b.tasks.stateOf(taskId)) === 'completed')
    // What came with the second, only the process knew that has died.
    expect(seen).toEqual([named('first'), { ...named('second'), metadata: {}, modes: [] }, named('third')])
  })

  test('is the answer that a question had, wherever it came from', async () => {
    for (const from of [0, 1] as const) {
      const answers: string[] = []
      const execute: Execute = async (run) => {
        answers.push(`${run.text}: ${textOf(await run.requireInput('Which?'))}`)
      }
      const { all, clock } = mortal(execute)
      const [a, b] = all
      const taskId = await sendAs('alice', a, 'asks')
      await settle()
      await sendAs('alice', all[from], 'answer', { taskId })
      await settle()
      a.store.fail()
      await pass(clock, async () => (await b.tasks.stateOf(taskId)) === 'completed')
      expect(answers).toEqual(['asks: answer'])
    }
  })

  test('is the turn that had begun last', async () => {
    const { execute, seen } = working()
    const { all, clock } = mortal(execute)
    const [a, b] = all
    const taskId = await sendAs('alice', a, 'ends')
    await sendAs('alice', a, 'second', { taskId })
    await settle()
    await sendAs('alice', a, 'third', { taskId })
    await settle()
    a.store.fail()
    await pass(clock, async () => (await b.tasks.stateOf(taskId)) === 'completed')
    expect(seen.map(({ text }) => text)).toEqual(['second', 'third'])
  })

  test('is one run where messages steer: it finds them in the conversation', async () => {
    const turns: string[] = []
    const execute: Execute = (run) => {
      turns.push(run.messages.map(textOf).join())
      return 'done'
    }
    const { all, clock } = mortal(execute, { onFollowUp: 'steer' })
    const [a, b] = all
    const taskId = await sendAs('alice', a, 'first')
    await settle()
    await sendAs('alice', b, 'second', { taskId })
    await settle()
    a.store.fail()
    await pass(clock, async () => (await b.tasks.stateOf(taskId)) === 'completed')
    expect(turns).toEqual(['first,second'])
  })

  test('knows the principals of messages that came before it began', async () => {
    const { execute, seen, ended } = working()
    const looked = gate()
    const asked: string[] = []
    const principalOf = async (id: string): Promise<{ id: string; name: string }> => {
      asked.push(id)
      await looked.opened
      return { id, name: 'Known' }
    }
    const { all, clock } = mortal(execute, { principalOf })
    const [a, b, c] = all
    const taskId = await sendAs('alice', a, 'first', {}, TENANT)
    await settle()
    a.store.fail()
    await pass(clock, () => asked.length > 0)
    // One of them has it: the other one's message goes by the store.
    const sent = [b, c].map((at, n) => sendAs('alice', at, `from ${n}`, { taskId }, TENANT))
    await settle()
    looked.open()
    await settle()
    ended.open()
    await Promise.all(sent)
    await b.tasks.waitFor(taskId)
    expect(seen.map(({ principal }) => principal)).toMatchObject([
      { id: 'alice', name: 'Known' },
      { id: 'alice' },
      { id: 'alice' },
    ])
    expect(seen.map(({ metadata }) => metadata)).toEqual(
      expect.arrayContaining([{ of: 'first' }, { of: 'from 0' }, { of: 'from 1' }]),
    )
  })

  test('is left to others where there is no room for it', async () => {
    const texts: string[] = []
    const ended = gate()
    const execute: Execute = async (run) => {
      texts.push(run.text)
      run.start()
      if (run.text === 'own') await ended.opened
    }
    const { all, clock } = mortal(execute, { limits: { maxRuns: 2 } })
    const [a, b, c] = all
    const dead = await Promise.all(['1', '2'].map((text) => sendAs('alice', a, text)))
    for (const at of [b, b]) await sendAs('alice', at, 'own')
    await settle()
    a.store.fail()
    c.store.fail()
    const start = clock.now()
    await pass(clock, () => clock.now() >= start + 120_000)
    expect(texts).toEqual(['own', 'own'])
    ended.open()
    const isOver = async (id: string): Promise<boolean> => (await b.tasks.stateOf(id)) === 'completed'
    await pass(clock, async () => (await Promise.all(dead.map(isOver))).every(Boolean))
    expect(texts.toSorted()).toEqual(['1', '2', 'own', 'own'])
  })
})
