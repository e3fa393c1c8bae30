/** Every part over one store leaves alone what the others keep there beside tasks. */
import { A2AClient } from 'a2a-tasks/client'
import { DurableTaskManager, memoryStore, type TaskDocument } from 'a2a-tasks/durable'
import { a2a, A2AGateway, AgentRegistry } from 'a2a-tasks/gateway'
import { createRequestHandler, type Principal } from 'a2a-tasks/server'
import { fakeAgent, ManualClock } from 'a2a-tasks/testing'
import { afterEach, expect, test } from 'vitest'
import { POSITION } from '../../src/remote/stored-document.js'
import * as kinds from '../../src/runtime/document-kinds.js'
import { Page } from '../inspector/support/inspected.js'
import { settle } from '../server/durable/support/replicas.js'
import { until } from '../server/journal/support/children.js'
import { receiver } from '../server/push/support/push.js'

interface Process {
  readonly tasks: DurableTaskManager
  readonly clock: ManualClock
  /** A task that has ended, beside which documents of all parts are. */
  readonly ended: string
  readonly errors: unknown[]
}

type Kind = keyof typeof kinds

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function agent() {
  const opened = fakeAgent(() => 'Done')
  closing.push(() => opened.close())
  return opened
}

const PARTS: Readonly<Record<string, (at: Process) => Promise<unknown>>> = {
  async client({ tasks, clock }) {
    const { fetch, url } = agent()
    const { id } = await tasks.createTask({ skill: 'other' })
    await new A2AClient({ taskManager: tasks, clock, fetch }).sendTask(url, id)
  },
  async gateway({ tasks, clock, errors }) {
    const { fetch, url } = agent()
    const registry = new AgentRegistry()
    registry.register({ id: 'worker', provider: 'a2a', capabilities: ['work'], endpoint: { url } })
    const providers = { a2a: a2a({ fetch }) }
    const onError = (error: unknown): unknown => errors.push(error)
    const options = { registry, tasks, providers, clock, onError, handleSecret: 'x'.repeat(32) }
    const gateway = new A2AGateway(options)
    expect(await gateway.sendTask('worker', 'go')).toMatchObject({ state: 'completed' })
  },
  async 'handler with webhooks'({ tasks, clock, errors }) {
    const hook = await receiver()
    const handler = createRequestHandler<Principal, DurableTaskManager>({
      ...{ card: { name: 'Agent', url: 'https://agent.test' }, anonymous: 'shared', clock, tasks },
      push: { allow: ['127.0.0.1'] },
      onError: (error) => errors.push(error),
      execute: () => 'Done',
    })
    closing.push(() => handler.close({ graceMs: 0 }))
    const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'go' }] }
    const configuration = { taskPushNotificationConfig: { url: hook.url } }
    const params = { message, configuration }
    await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
    await until(() => hook.received.length > 0)
  },
  async inspector({ tasks, ended }) {
    const page = new Page({ tasks, authorize: () => ({}), actions: ['fork', 'redrive', 'delete'] })
    expect((await page.get(`tasks/${ended}`)).status).toBe(200)
  },
}

/** What a part may read, change and delete. */
const OWN: Readonly<Record<string, readonly Kind[]>> = {
  client: ['SENT_TASK'],
  gateway: ['GATEWAY_TASK', 'GATEWAY_END'],
  // The marks of runs of earlier builds are among those of clients.
  'handler with webhooks': ['REQUEST', 'ORIGIN', 'WEBHOOKS', 'WEBHOOK_OUTBOX', 'RUN_DELEGATION', 'SENT_TASK'],
  inspector: [],
}

const NAMES = Object.keys(PARTS)

test.each<[string, readonly string[]]>([
  ...NAMES.map((part): [string, string[]] => [part, [part]]),
  ['all together', NAMES],
])('%s', async (_, parts) => {
  const clock = new ManualClock()
  const store = memoryStore({ now: () => clock.now() })
  const tasks = new DurableTaskManager({ store, clock })
  closing.push(() => tasks.destroy())
  const { id: ended, createdAt } = await tasks.createTask({ skill: 'any' })
  await tasks.cancelTask(ended)
  const own = new Set<string>(parts.flatMap((part) => OWN[part] ?? []))
  const left: TaskDocument[] = []
  for (const [name, kind] of Object.entries(kinds)) {
    if (own.has(name)) continue
    // The id that clients and gateways look for.
    const document = { key: { id: ended, createdAt }, kind, id: POSITION, value: { of: name } }
    await store.putDocument(document, 0)
    left.push({ ...document, version: 1 })
  }

  const errors: unknown[] = []
  for (const part of parts) await PARTS[part]?.({ tasks, clock, ended, errors })
  for (let minutes = 0; minutes < 12; minutes += 1) {
    clock.advance(60_000)
    await settle()
  }
  const found = await Promise.all(left.map(async ({ kind }) => await store.allDocuments(kind, undefined, 10)))
  expect(found.flat().filter(({ key }) => key.id === ended)).toEqual(left)
  expect(errors).toEqual([])
  await until(() => tasks.stats().leases === 0)
})
