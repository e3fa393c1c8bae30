/** The same executor behind the server of the SDK that it is written for, and behind the handler of this library. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentCard } from '@a2a-js/sdk'
import * as modern from '@a2a-js/sdk/server'
import * as modernExpress from '@a2a-js/sdk/server/express'
import * as legacy from 'a2a-sdk-v0-3/server'
import * as legacyExpress from 'a2a-sdk-v0-3/server/express'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { fromAgentExecutor, type Ignored, type SdkVersion } from 'a2a-tasks/migrate'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import express, { type Express } from 'express'
import { onTestFinished } from 'vitest'
import type { Binding } from '../../server/interop/peers.js'

export type Managers = 'TaskManager' | 'DurableTaskManager'

export interface Ours {
  readonly url: string
  /** What `onError` received. */
  readonly errors: unknown[]
  readonly ignored: Ignored[]
  readonly tasks: TaskManager | DurableTaskManager
}

export type AnyExecutor = modern.AgentExecutor | legacy.AgentExecutor

async function listen(build: (app: Express, url: string) => void): Promise<string> {
  const app = express()
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  build(app, url)
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  return url
}

export async function serveOurs(
  executor: AnyExecutor,
  version: SdkVersion,
  managers: Managers,
  limits: object = {},
): Promise<Ours> {
  const errors: unknown[] = []
  const ignored: Ignored[] = []
  const tasks =
    managers === 'TaskManager'
      ? new TaskManager({ eventLogSize: 10_000, ...limits })
      : new DurableTaskManager({ store: memoryStore(), onError: (error) => errors.push(error) })
  const execute = fromAgentExecutor(executor, { version, onIgnored: (each) => ignored.push(each) })
  const url = await listen((app, origin) => {
    const handler = createRequestHandler<{ id: string }, TaskManager | DurableTaskManager>({
      card: { name: 'Peer', url: origin },
      ...{ execute, tasks, onError: (error: unknown) => errors.push(error) },
    })
    app.use(toNodeListener(handler.fetch))
    onTestFinished(async () => {
      await handler.close({ graceMs: 1 })
      if (tasks instanceof DurableTaskManager) await tasks.destroy()
    })
  })
  return { url, errors, ignored, tasks }
}

/** The server of the SDK 1.3.0, with both versions of the protocol over the binding. */
export function serveModern(executor: modern.AgentExecutor, binding: Binding): Promise<string> {
  return listen((app, origin) => {
    const card = AgentCard.fromJSON({
      ...{ name: 'Peer', description: 'Answers', version: '1.0.0', skills: [] },
      ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
      capabilities: { streaming: true },
      supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
        ...{ url: `${origin}/a2a`, protocolBinding: binding, protocolVersion },
      })),
    })
    const requestHandler = new modern.DefaultRequestHandler(card, new modern.InMemoryTaskStore(), executor)
    const userBuilder = modernExpress.UserBuilder.noAuthentication
    const legacyCompat = { enabled: true }
    const handler = binding === 'JSONRPC' ? modernExpress.jsonRpcHandler : modernExpress.restHandler
    app.use(
      '/.well-known/agent-card.json',
      modernExpress.agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
    )
    app.use('/a2a', handler({ requestHandler, userBuilder, legacyCompat }))
  })
}

/** The server of the SDK 0.3.14. */
export function serveLegacy(executor: legacy.AgentExecutor, binding: Binding): Promise<string> {
  return listen((app, origin) => {
    const requestHandler = new legacy.DefaultRequestHandler(
      {
        ...{ name: 'Peer', description: 'Answers', version: '1.0.0', skills: [] },
        ...{ url: `${origin}/a2a`, protocolVersion: '0.3.0', preferredTransport: binding },
        ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
        capabilities: { streaming: true },
      },
      new legacy.InMemoryTaskStore(),
      executor,
    )
    const userBuilder = legacyExpress.UserBuilder.noAuthentication
    const handler = binding === 'JSONRPC' ? legacyExpress.jsonRpcHandler : legacyExpress.restHandler
    app.use(
      '/.well-known/agent-card.json',
      legacyExpress.agentCardHandler({ agentCardProvider: requestHandler }),
    )
    app.use('/a2a', handler({ requestHandler, userBuilder }))
  })
}
