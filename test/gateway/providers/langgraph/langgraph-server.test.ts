/** A real LangGraph server behind the gateway, which is an agent to a real client over HTTP. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AClient, type RunUpdate } from 'a2a-tasks/client'
import { A2AGateway, gatewayRequestHandler, langGraph } from 'a2a-tasks/gateway'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInstalled, skipMissing } from '../../../services/installed.js'
import {
  LANGGRAPH_PACKAGES,
  startLangGraph,
  type LangGraphServer,
} from '../../../services/langgraph/start-langgraph.js'

const GRAPHS = ['echo', 'tokens', 'ask', 'fail', 'hold']
const SECRET = 'the same in every process of the test'

let service: LangGraphServer
let http: Server
let gateway: A2AGateway
let client: A2AClient

/** As each process has it. */
function newGateway(): A2AGateway {
  const made = new A2AGateway({
    providers: { langgraph: langGraph() },
    handleSecret: SECRET,
    config: { pollIntervalMs: 50 },
  })
  for (const id of GRAPHS) {
    made.registry.register({
      id,
      provider: 'langgraph',
      capabilities: [id],
      endpoint: { url: service.url },
      settings: { assistantId: id },
    })
  }
  return made
}

function ask(agentId: string, text = 'hello') {
  return { parts: [{ text }], metadata: { agentId } }
}

if (isInstalled(...LANGGRAPH_PACKAGES)) describe('LangGraph, through the gateway', throughTheGateway)
else it('LangGraph is not installed', (context) => skipMissing(context, ...LANGGRAPH_PACKAGES))

function throughTheGateway(): void {
  beforeAll(async () => {
    service = await startLangGraph()
    gateway = newGateway()
    http = createServer().listen(0, '127.0.0.1')
    await once(http, 'listening')
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    const handler = createRequestHandler({
      card: { name: 'gateway', url },
      tasks: gateway.tasks,
      execute: gatewayRequestHandler(gateway),
    })
    http.on('request', toNodeListener(handler.fetch))
    client = await A2AClient.connect(url)
  }, 60_000)
  afterAll(async () => {
    await gateway.close({ graceMs: 1 })
    http.closeAllConnections()
    http.close()
    await service.stop()
  })

  it('all graphs are online', async () => {
    const agents = await gateway.registry.checkHealth()
    expect(agents.map(({ status }) => status)).toEqual(GRAPHS.map(() => 'online'))
  })

  it('a task is sent, and completed', async () => {
    const task = await gateway.sendTask('echo', 'hello')
    expect(task).toMatchObject({ state: 'completed', artifacts: [{ parts: [{ text: 'You said: hello' }] }] })
    expect(await client.run(ask('echo'))).toMatchObject({ type: 'completed', text: 'You said: hello' })
  })

  it('what the model writes streams to the client', async () => {
    const updates: RunUpdate['event'][] = []
    const result = await client.run(ask('tokens'), { onUpdate: ({ event }) => updates.push(event) })
    expect(result).toMatchObject({ type: 'completed' })
    const chunks = updates.filter(({ type }) => type === 'artifact')
    expect(chunks.length).toBeGreaterThan(3)
    const parts = result.ok && result.type === 'completed' ? (result.task.artifacts[0]?.parts ?? []) : []
    expect(parts.map(({ text }) => text).join('')).toBe('Hello, you')
  })

  it('an interrupt is a question, and its answer resumes the graph', async () => {
    const asked = await client.run(ask('ask'))
    expect(asked).toMatchObject({
      type: 'input-required',
      task: { message: { parts: [{ data: { question: 'Which colour?' } }] } },
    })
    const taskId = asked.ok ? undefined : asked.task?.id
    const answered = await client.run('blue', { taskId })
    expect(answered).toMatchObject({ type: 'completed', task: { id: taskId }, text: 'You chose "blue"' })
  })

  it('a cancel stops the run', async () => {
    const controller = new AbortController()
    const result = await client.run(ask('hold'), {
      signal: controller.signal,
      onUpdate({ task }) {
        // Known there: with the first word of the graph.
        if (task.message !== undefined || task.artifacts.length > 0) controller.abort()
      },
    })
    expect(result.type).toBe('canceled')
    const [thread] = await search('/threads/search')
    const [run] = await search(`/threads/${thread?.['thread_id'] as string}/runs`, 'GET')
    expect(run?.['status']).not.toBe('running')
  })

  it('a graph that fails makes a task that failed, and its text stays inside', async () => {
    const result = await client.run(ask('fail'))
    expect(result.type).toBe('failed')
    expect(JSON.stringify(result)).not.toContain('boom')
  })

  it('another process asks for the task by its handle, follows it, and cancels it', async () => {
    const { id } = await gateway.sendTask('hold', 'hello', { returnImmediately: true })
    const handle = await placed(id)
    const other = newGateway()
    expect(await other.getTask(handle)).toMatchObject({ id, state: 'working' })
    const events = await other.subscribe(handle)
    expect((await events.next()).value).toMatchObject({ type: 'snapshot', task: { state: 'working' } })
    expect((await other.cancelTask(handle)).state).toBe('canceled')
    const states = []
    for await (const event of events) if (event.type === 'status') states.push(event.to)
    expect(states).toEqual(['canceled'])
    await other.close({ graceMs: 1 })
    // The first process learns of it by polling.
    expect((await gateway.tasks.waitFor(id)).state).toBe('canceled')
  })
}

/** The handle of a task, as soon as the service has said where it keeps it. */
async function placed(taskId: string): Promise<string> {
  await gateway.tasks.waitFor(taskId, { until: ['working'] })
  const handle = await gateway.handleOf(taskId)
  if (handle === null) throw new Error('The service has not said where the task is')
  return handle
}

async function search(path: string, method = 'POST'): Promise<Record<string, unknown>[]> {
  const body =
    method === 'POST' ? JSON.stringify({ limit: 1, sort_by: 'updated_at', sort_order: 'desc' }) : null
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${service.url}${path}`, { method, headers, body })
  return (await answer.json()) as Record<string, unknown>[]
}
