/** The request of a turn in each attempt: in another process, after answers, and after `run.continueAs`. */
import type { TaskStore } from 'a2a-tasks/durable'
import { textOf, type Execute, type Run } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cluster, pass, settle, type Replica } from '../durable/support/replicas.js'
import { as, authenticate, call, jsonRpc, ORIGIN, user } from '../spec/support/agent.js'
import { databaseFile } from '../../stores/sqlite/support/sqlite.js'

const EXTENSION = 'https://agent.test/extensions/tone'
const card = { name: 'Test', url: ORIGIN, capabilities: { extensions: [{ uri: EXTENSION }] } }

const forEver = (): Promise<never> => new Promise(() => undefined)

const requestOf = ({ text, message, metadata, tenant, extensions, acceptedOutputModes, principal }: Run) => ({
  ...{ text, of: message.metadata?.['of'], metadata, tenant },
  ...{ extensions, modes: acceptedOutputModes, principal: principal?.id },
})

/** What `requestOf` has of a message that {@link say} sends with a tone. */
const requestFor = (text: string): ReturnType<typeof requestOf> => ({
  ...{ text, of: text, metadata: { request: text }, tenant: 'acme' },
  ...{ extensions: [EXTENSION], modes: [`text/${text}`], principal: 'alice' },
})

async function say(at: Replica, text: string, taskId?: string, hasTone = true): Promise<string> {
  const headers = { ...as('alice').headers, ...(hasTone && { 'A2A-Extensions': EXTENSION }) }
  const { result, error } = await call(
    jsonRpc,
    at,
    'SendMessage',
    {
      message: user(text, { metadata: { of: text }, ...(taskId !== undefined && { taskId }) }),
      configuration: { returnImmediately: true, acceptedOutputModes: [`text/${text}`] },
      metadata: { request: text },
      tenant: 'acme',
    },
    { headers },
  )
  if (error !== undefined) throw new Error(error.message)
  return result?.task?.id ?? ''
}

describe.each(['memory', 'SQLite'])('over %s, a turn whose process dies', (kind) => {
  async function two(executes: readonly [Execute, Execute]): Promise<{
    readonly a: Replica
    readonly b: Replica
    readonly clock: ManualClock
  }> {
    let clock = new ManualClock()
    let way: ((store: TaskStore) => TaskStore) | undefined
    if (kind === 'SQLite') {
      const file = databaseFile()
      onTestFinished(() => file.remove())
      const store = await file.open({ now: () => clock.now() })
      way = () => store
    }
    const options = { authenticate, principalOf: (id: string) => ({ id }), card }
    const replicated = cluster(executes, options, way)
    clock = replicated.clock
    const [a, b] = replicated.all as [Replica, Replica]
    return { a, b, clock }
  }

  const seen: ReturnType<typeof requestOf>[] = []

  /** A function that dies at its end in the first process. */
  async function survive(body: (run: Run) => Promise<unknown>, ...answers: readonly string[]): Promise<void> {
    seen.length = 0
    const script =
      (end: () => Promise<void>): Execute =>
      async (run) => {
        run.start()
        seen.push(requestOf(run))
        await body(run)
        seen.push(requestOf(run))
        await end()
      }
    const { a, b, clock } = await two([script(forEver), script(() => Promise.resolve())])
    const id = await say(a, 'first')
    for (const answer of answers) {
      await settle()
      await say(a, answer, id, false)
    }
    await settle()
    a.store.fail()
    await pass(clock, async () => (await b.tasks.stateOf(id)) === 'completed')
    expect([...b.errors]).toEqual([])
  }

  test('has the request of its first message', async () => {
    await survive((run) => run.step('one', () => 1))
    expect(seen).toEqual([1, 2, 3, 4].map(() => requestFor('first')))
  })

  test('has it before it has recorded anything', async () => {
    await survive(() => Promise.resolve())
    expect(seen).toEqual([1, 2, 3, 4].map(() => requestFor('first')))
  })

  test('has it after answers, which have requests of their own', async () => {
    const answers: string[] = []
    await survive(async (run) => answers.push(textOf(await run.requireInput('Which?'))), 'second')
    expect(answers).toEqual(['second', 'second'])
    expect(seen).toEqual([1, 2, 3, 4].map(() => requestFor('first')))
  })

  test('has it after run.continueAs, with the message that this was given', async () => {
    await survive(async (run) => {
      if (run.text !== 'first') return run.step('one', () => 1)
      return await run.continueAs({ parts: [{ text: 'again' }], metadata: { of: 'round' } })
    })
    const again = { ...requestFor('first'), text: 'again', of: 'round' }
    expect(seen).toEqual([requestFor('first'), again, again, again, again])
  })
})
