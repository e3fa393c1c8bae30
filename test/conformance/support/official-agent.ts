/** The agent that `../run.mjs` asks for, written for the official SDK 1.3.0 and served by its handlers over Express. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentCard, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { Publisher, say, textOf } from '../../migrate/support/modern-executors.js'

const { TASK_STATE_WORKING, TASK_STATE_COMPLETED, TASK_STATE_CANCELED, TASK_STATE_FAILED } = TaskState

class ContractExecutor implements AgentExecutor {
  /** By task: what cancels it. */
  readonly #open = new Map<string, () => void>()

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    const text = textOf(context.userMessage)
    const command = text.split(' ')[0]
    if (command === 'reply') {
      bus.publish(AgentEvent.message(say('Hello', context)))
      bus.finished()
      return
    }
    // As the SDK asks for: also in later turns.
    publish.task()
    if (context.task === undefined && command === 'ask') {
      this.#open.set(context.taskId, () => publish.status(TASK_STATE_CANCELED))
      publish.status(TaskState.TASK_STATE_INPUT_REQUIRED, 'What is your name?')
      return
    }
    publish.status(TASK_STATE_WORKING)
    if (command === 'wait') {
      await new Promise<void>((resolve) => this.#open.set(context.taskId, resolve))
      publish.status(TASK_STATE_CANCELED)
    } else if (command === 'fail') {
      publish.status(TASK_STATE_FAILED, 'It did not work')
    } else {
      const chunks = command === 'stream' ? ['one ', 'two ', 'three'] : [`You said: ${text}`]
      chunks.forEach((chunk, index) => {
        publish.artifact(chunk, { append: index > 0, lastChunk: index === chunks.length - 1 })
      })
      publish.status(TASK_STATE_COMPLETED)
    }
  }

  readonly cancelTask = (taskId: string): Promise<void> => {
    this.#open.get(taskId)?.()
    this.#open.delete(taskId)
    return Promise.resolve()
  }
}

export interface OfficialAgent {
  readonly url: string
  readonly close: () => void
}

/** Both bindings, each with 1.0 and with 0.3, on its own port. */
export async function serveOfficialAgent(): Promise<OfficialAgent> {
  const app = express()
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = AgentCard.fromJSON({
    ...{ name: 'Official', description: 'Answers', version: '1.0.0' },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    capabilities: { streaming: true, pushNotifications: true },
    skills: [{ id: 'default', name: 'Official', description: 'Answers', tags: ['general'] }],
    supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) => [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion },
      { url: `${url}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion },
    ]),
  })
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    new ContractExecutor(),
    undefined,
    new InMemoryPushNotificationStore(),
    // No request leaves the process.
    { send: () => Promise.resolve() },
  )
  const shared = {
    requestHandler,
    userBuilder: UserBuilder.noAuthentication,
    legacyCompat: { enabled: true },
  }
  app.use(
    '/.well-known/agent-card.json',
    agentCardHandler({ agentCardProvider: requestHandler, legacyCompat: { enabled: true } }),
  )
  app.use('/rpc', jsonRpcHandler(shared))
  app.use('/rest', restHandler(shared))
  return {
    url,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
