/** The agents of a gateway in an inspector: their health, load and breakers, without their secrets. */
import { A2AGateway, AgentRegistry, custom, providerError } from 'a2a-tasks/gateway'
import type { InspectorAccess, InspectorAudit } from 'a2a-tasks/inspector'
import { expect, it, onTestFinished } from 'vitest'
import { Page } from './support/inspected.js'

/** The agent "good" waits for its task to be canceled, and "bad" fails at once. */
function openGateway() {
  const registry = new AgentRegistry()
  const url = 'https://agents.test/one?key=secret'
  const auth = { type: 'bearer', token: 'secret' } as const
  const common = {
    provider: 'custom',
    capabilities: ['plan'],
    endpoint: { url, auth },
    settings: { key: 'secret' },
  }
  registry.register({ id: 'good', ...common, maxConcurrentTasks: 3 })
  registry.register({ id: 'bad', ...common })
  const gateway = new A2AGateway({
    registry,
    config: { circuitBreaker: { failures: 1 } },
    onError: () => undefined,
    providers: {
      custom: custom({
        async run(_, { agent, signal }) {
          if (agent.id === 'bad') throw providerError('custom', agent, 'it is down', { retryable: true })
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          return 'done'
        },
      }),
    },
  })
  onTestFinished(async () => {
    await gateway.close({ graceMs: 0 })
    gateway.tasks.destroy()
  })
  return gateway
}

it('shows which agents work, fail and are full, and no secret', async () => {
  const gateway = openGateway()
  const task = await gateway.sendTask('good', 'go', { returnImmediately: true })
  await gateway.sendTask('bad', 'go')
  const page = new Page({ tasks: gateway.tasks, gateway, authorize: () => ({}) })
  const { body } = await page.get('agents')
  expect(body).toMatchObject([
    { id: 'good', status: 'online', load: 1, maxLoad: 3, waitMs: 0, url: 'https://agents.test/one' },
    { id: 'bad', status: 'online', load: 0, maxLoad: null, capabilities: ['plan'] },
  ])
  expect(body).toMatchObject([
    { tasks: 1, completed: 0, failed: 0, meanMs: 0, spent: {} },
    { tasks: 1, completed: 0, failed: 1, meanMs: gateway.stats('bad')?.durationMs.mean },
  ])
  expect((body as unknown as { waitMs: number }[])[1]?.waitMs).toBeGreaterThan(0)
  expect(JSON.stringify(body)).not.toMatch(/secret/)
  expect((await page.get(`tasks/${task.id}`)).body).toMatchObject({ agentId: 'good' })
  expect((await page.get('session')).body).toMatchObject({ hasGateway: true })
})

it('takes an agent out of service and puts it back, after an audit', async () => {
  const gateway = openGateway()
  const audits: InspectorAudit[] = []
  const page = new Page({
    tasks: gateway.tasks,
    gateway,
    actions: ['maintain'],
    authorize: () => ({}),
    onAction: (audit) => void audits.push(audit),
  })
  expect((await page.post('agents', { id: 'good', status: 'maintenance' })).body).toMatchObject([
    { id: 'good', status: 'maintenance' },
    { id: 'bad' },
  ])
  expect(audits).toEqual([{ action: 'maintain', agentId: 'good', access: {} }])
  expect((await page.post('agents', { id: 'good', status: 'online' })).body).toMatchObject([
    { id: 'good', status: 'online' },
    { id: 'bad' },
  ])
  expect((await page.post('agents', { id: 'good', status: 'offline' })).status).toBe(400)
  expect((await page.post('agents', { id: 'none', status: 'online' })).status).toBe(404)
  expect(gateway.registry.get('good')?.status).toBe('online')
})

it.each<[string, InspectorAccess, object]>([
  ['people who see the tasks of one owner', { owner: 'ann' }, {}],
  ['people who see the tasks without an owner', { owner: null }, {}],
])('shows and changes no agents for %s', async (_, access) => {
  const gateway = openGateway()
  const page = new Page({ tasks: gateway.tasks, gateway, actions: ['maintain'], authorize: () => access })
  expect((await page.get('agents')).status).toBe(403)
  expect((await page.post('agents', { id: 'good', status: 'maintenance' })).status).toBe(403)
  expect((await page.get('session')).body).toMatchObject({ hasGateway: false, actions: [] })
  expect(gateway.registry.get('good')?.status).toBe('online')
})

it('needs the action, and a gateway', async () => {
  const gateway = openGateway()
  const page = new Page({ tasks: gateway.tasks, gateway, authorize: () => ({}) })
  expect((await page.post('agents', { id: 'good', status: 'maintenance' })).status).toBe(403)
  expect((await new Page({ tasks: gateway.tasks, authorize: () => ({}) }).get('agents')).status).toBe(404)
})
