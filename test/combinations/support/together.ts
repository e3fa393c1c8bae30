/**
 * All parts over one manager at the same time.
 *
 * @module
 */
import { A2AClient } from 'a2a-tasks/client'
import { A2AGateway, AgentRegistry, custom, gatewayRequestHandler } from 'a2a-tasks/gateway'
import { createInspector } from 'a2a-tasks/inspector'
import { LocalTaskManager } from 'a2a-tasks/compat'
import { createRequestHandler, type AnyTasks, type Principal } from 'a2a-tasks/server'
import { instrumentTasks } from 'a2a-tasks/telemetry'
import { fakeAgent } from 'a2a-tasks/testing'
import { expect, onTestFinished } from 'vitest'
import { sdk } from '../../telemetry/support/sdk.js'
import type { Manager, Row } from './rows.js'

/** A gateway, its handler, delegation, a `LocalTaskManager`, telemetry and the inspector. */
export async function together(row: Row): Promise<void> {
  const { spans } = sdk()
  const tasks: Manager = await row.open()
  onTestFinished(instrumentTasks(tasks))
  const registry = new AgentRegistry()
  const endpoint = { url: 'https://service.test' }
  registry.register({ id: 'poet', provider: 'poet', capabilities: ['poet'], endpoint })
  const gateway = new A2AGateway({ registry, tasks, providers: { poet: custom(({ text }) => `O ${text}!`) } })
  const handler = createRequestHandler<Principal, AnyTasks>({
    card: { name: 'Gateway', url: 'https://gateway.test' },
    tasks,
    execute: gatewayRequestHandler(gateway),
  })
  const local = new LocalTaskManager((text) => `Echo: ${text}`, { tasks })
  const agent = fakeAgent((run) => `Analysed ${run.text}`)
  const inspector = createInspector({ tasks, handler, authorize: () => ({}) })
  onTestFinished(async () => {
    await Promise.all([
      handler.close({ graceMs: 1 }),
      gateway.close({ graceMs: 1 }),
      local.shutdown(),
      agent.close(),
    ])
  })
  const fetch = (url: string, init?: RequestInit): Promise<Response> => handler.fetch(new Request(url, init))
  const client = new A2AClient({ card: handler.card, fetch })
  const delegating = new A2AClient({
    taskManager: tasks,
    fetch: agent.fetch,
    agents: { analyst: agent.url },
  })
  const { id } = await tasks.createTask({ skill: 'analysis', input: 'sales' })
  await Promise.all([
    gateway.sendTask('poet', 'sea'),
    client.run('poet'),
    local.sendMessage('hello'),
    delegating.sendTask('analyst', id),
  ])
  const texts = (await tasks.listTasks({ state: 'completed' })).map(({ artifacts, messages }) => {
    const { parts = [] } = artifacts[0] ?? messages.at(-1) ?? {}
    return parts.map(({ text }) => text).join('')
  })
  expect(texts.toSorted()).toEqual(['Analysed sales', 'Echo: hello', 'O poet!', 'O sea!'])
  const headers = { 'x-a2a-inspector': '1' }
  const page = await inspector.fetch(new Request('https://localhost/api/counts', { headers }))
  expect(await page.json()).toMatchObject({ completed: 4 })
  const executed = (): number => spans().filter(({ name }) => name === 'a2a.task.execute').length
  await expect.poll(executed).toBe(4)
}
