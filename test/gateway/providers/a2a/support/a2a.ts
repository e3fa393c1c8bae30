/** An agent as the registry has it, and what a gateway asks of its provider. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AError } from 'a2a-tasks'
import { expect, onTestFinished } from 'vitest'
import type { RegisteredAgent } from '../../../../../src/gateway/registry/agent.js'
import type { AgentProvider, ProviderTask, TaskUpdate } from '../../../../../src/gateway/provider.js'

export function agentAt(url: string, more: Partial<RegisteredAgent> = {}): RegisteredAgent {
  return Object.freeze({
    ...{ id: 'agent-1', name: 'Agent', description: '', provider: 'a2a', capabilities: [], settings: {} },
    endpoint: Object.freeze({ url, timeoutMs: 5_000 }),
    status: 'online',
    metadata: { version: '1', createdAt: '', lastSeenAt: '', tags: [], extra: {} },
    ...more,
  })
}

export function asked(text: string, more: Partial<ProviderTask> = {}): ProviderTask {
  return {
    ...{ id: 'our-task', contextId: 'our-context', text },
    message: { messageId: 'our-message', role: 'user', parts: [{ text }], contextId: 'our-context' },
    ...more,
  }
}

/** A call without an end. */
export const calling = (): { signal: AbortSignal } => ({ signal: new AbortController().signal })

/** Where an agent keeps a task: ids of its own. */
export const A_REF = {
  taskId: expect.any(String) as unknown,
  contextId: expect.any(String) as unknown,
}

/** Asks for the task until it has ended, or waits. */
export async function follow(
  provider: AgentProvider,
  agent: RegisteredAgent,
  sent: TaskUpdate,
): Promise<TaskUpdate> {
  let update = sent
  while (update.state === 'submitted' || update.state === 'working') {
    update = await provider.getTask(agent, update.ref ?? {}, calling())
  }
  return update
}

export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

/** What `promise` is rejected with, of ours. */
export async function fault(promise: Promise<unknown>): Promise<A2AError> {
  const error = await promise.then(
    (value) => new Error(`Nothing was thrown, but given: ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  )
  if (A2AError.is(error)) return error
  throw error as Error
}

/** A server on its own port until the test is over. */
export async function serve(listener: (origin: string) => RequestListener): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  server.on('request', listener(origin))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  return origin
}

/** A URL at which no server listens. */
export async function nowhere(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** The texts of an update's artifacts. */
export function textsOf({ artifacts = [] }: TaskUpdate): string[] {
  return artifacts.map(({ parts = [] }) => parts.map(({ text = '' }) => text).join(''))
}
