/**
 * A chat of AI SDK, as a page has it, whose agent is served over HTTP.
 *
 * @module
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TaskManager } from 'a2a-tasks'
import { QUESTIONS_EXTENSION, TOOL_CALLS_EXTENSION } from 'a2a-tasks/agent-card'
import { a2aChatTransport, type A2AChatTransport } from 'a2a-tasks/chat'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler, type Execute, type RequestHandlerOptions } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { loadFramework } from '../installed.js'

/** A part of a message of AI SDK. */
export interface UIPart {
  readonly type: string
  readonly text?: string
  readonly state?: string
  readonly toolCallId?: string
  readonly approval?: { readonly id: string }
  readonly data?: unknown
}

export interface UIMessage {
  readonly id: string
  readonly role: string
  readonly metadata?: unknown
  readonly parts: UIPart[]
}

/** What is used of AI SDK's chat. */
export interface Chat {
  readonly id: string
  readonly messages: UIMessage[]
  readonly status: string
  readonly error: Error | undefined
  sendMessage(message?: object, options?: object): Promise<void>
  regenerate(): Promise<void>
  resumeStream(): Promise<void>
  stop(): Promise<void>
  addToolApprovalResponse(answer: object): Promise<void>
}

interface AiUi {
  readonly AbstractChat: new (init: object) => Chat
  readonly lastAssistantMessageIsCompleteWithApprovalResponses: unknown
}

export interface Scene {
  readonly client: A2AClient
  readonly transport: A2AChatTransport
  readonly tasks: TaskManager
}

/** An agent on a port of its own. */
export async function serve(execute: Execute, options: Partial<RequestHandlerOptions> = {}): Promise<Scene> {
  const card = {
    name: 'Agent',
    url: 'http://localhost/agent',
    capabilities: { streaming: true, extensions: [QUESTIONS_EXTENSION, TOOL_CALLS_EXTENSION] },
  }
  const handler = createRequestHandler({ card, ...options, execute })
  const server = createServer(toNodeListener(handler.fetch))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await handler.close()
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = await A2AClient.connect(url, { sameOrigin: true })
  return { client, transport: a2aChatTransport(client), tasks: handler.tasks }
}

/** A chat with the state that a page keeps. `onChange` is called with each change of its messages. */
export async function chatOf(
  transport: object,
  {
    id = 'chat-1',
    messages = [],
    onChange = () => undefined,
    ...init
  }: {
    readonly id?: string
    readonly messages?: UIMessage[]
    readonly onChange?: (messages: readonly UIMessage[]) => void
  } = {},
): Promise<Chat> {
  const { AbstractChat, lastAssistantMessageIsCompleteWithApprovalResponses } =
    await loadFramework<AiUi>('ai')
  const state = {
    status: 'ready',
    error: undefined,
    messages,
    pushMessage(message: UIMessage) {
      state.messages = [...state.messages, message]
      onChange(state.messages)
    },
    popMessage() {
      state.messages = state.messages.slice(0, -1)
    },
    replaceMessage(index: number, message: UIMessage) {
      state.messages = state.messages.with(index, message)
      onChange(state.messages)
    },
    snapshot: <T>(value: T): T => structuredClone(value),
  }
  class PageChat extends AbstractChat {}
  const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses
  return new PageChat({ id, transport, state, sendAutomaticallyWhen, ...init })
}

/** The parts of the last message, without what only marks steps. */
export function lastParts(chat: Chat): UIPart[] {
  const parts = chat.messages.at(-1)?.parts ?? []
  return parts.filter(({ type }) => type !== 'step-start')
}

/** A promise that others resolve. */
export function signal(): { readonly given: Promise<void>; readonly give: () => void } {
  let give = (): void => undefined
  const given = new Promise<void>((resolve) => (give = resolve))
  return { given, give }
}

/** Resolves when the messages of a chat are as wanted. */
export function whenChanged(wanted: (messages: readonly UIMessage[]) => boolean): {
  readonly onChange: (messages: readonly UIMessage[]) => void
  readonly changed: Promise<void>
} {
  const { given, give } = signal()
  const onChange = (messages: readonly UIMessage[]): void => {
    if (wanted(messages)) give()
  }
  return { onChange, changed: given }
}
