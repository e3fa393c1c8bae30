/**
 * A front end of AG-UI, whose agent is served over HTTP.
 *
 * @module
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, vi } from 'vitest'
import type { TaskManager } from 'a2a-tasks'
import { createAgUiHandler, type AgUiOptions } from 'a2a-tasks/ag-ui'
import { A2AClient } from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { fakeAgent, type FakeAgentOptions } from 'a2a-tasks/testing'
import { loadFramework } from '../installed.js'

export interface AgUiEvent {
  readonly type: string
  readonly [field: string]: unknown
}

export interface Interrupt {
  readonly id: string
  readonly reason: string
  readonly message?: string
  readonly [field: string]: unknown
}

export interface Message {
  readonly id: string
  readonly role: string
  readonly content?: unknown
  readonly [field: string]: unknown
}

interface RunParameters {
  readonly runId?: string
  readonly resume?: readonly { interruptId: string; status: string; payload?: unknown }[]
  readonly [field: string]: unknown
}

/** What is used of `HttpAgent`. */
interface HttpAgent {
  readonly threadId: string
  messages: Message[]
  readonly pendingInterrupts: readonly Interrupt[]
  addMessage(message: Message): void
  runAgent(parameters: RunParameters, subscriber: object): Promise<{ readonly result: unknown }>
  abortRun(): void
}

interface AgUi {
  readonly HttpAgent: new (init: object) => HttpAgent
}

export interface Page {
  readonly agent: HttpAgent
  readonly tasks: TaskManager
  /** The events of the last run, without what the client adds. */
  readonly events: readonly AgUiEvent[]
  /** Says something, and runs the agent. */
  readonly say: (content: unknown, parameters?: RunParameters) => Promise<void>
  /** Runs the agent with what has been said. */
  readonly run: (parameters?: RunParameters) => Promise<void>
  /** Answers all interrupts. */
  readonly answer: (payload: unknown, status?: 'resolved' | 'cancelled') => Promise<void>
  /** What the last run waits for. */
  readonly interrupts: readonly Interrupt[]
}

/** A page with the client of AG-UI, whose agent does this. */
export async function pageOf(
  execute: Execute,
  options: FakeAgentOptions & { readonly agUi?: AgUiOptions } = {},
): Promise<Page> {
  const { agUi, ...others } = options
  const remote = fakeAgent(execute, others)
  const client = new A2AClient({ card: remote.card, fetch: remote.fetch })
  const server = createServer(toNodeListener(createAgUiHandler(client, agUi)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await remote.close()
    server.closeAllConnections()
    server.close()
  })
  // The client warns of what AG-UI does not know.
  const warn = vi.spyOn(console, 'warn')
  onTestFinished(() => {
    expect(warn.mock.calls).toEqual([])
    warn.mockRestore()
  })
  const { HttpAgent } = await loadFramework<AgUi>('@ag-ui/client')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/agent`
  const agent = new HttpAgent({ url, threadId: 'thread-1' })
  let events: AgUiEvent[] = []
  let said = 0
  const run = async (parameters: RunParameters = {}): Promise<void> => {
    events = []
    await agent.runAgent(parameters, {
      onEvent: ({ event }: { readonly event: AgUiEvent }) => void events.push(event),
    })
  }
  return {
    ...{ agent, tasks: remote.tasks, run },
    get events() {
      return events
    },
    get interrupts() {
      return agent.pendingInterrupts
    },
    say: async (content, parameters) => {
      agent.addMessage({ id: `u${(said += 1)}`, role: 'user', content })
      await run(parameters)
    },
    answer: (payload, status = 'resolved') =>
      run({
        resume: agent.pendingInterrupts.map(({ id }) => ({
          ...{ interruptId: id, status },
          ...(payload !== undefined && { payload }),
        })),
      }),
  }
}

/** Without the messages of the user. */
export function shown({ agent }: Page): Message[] {
  return agent.messages.filter(({ role, activityType }) => role !== 'user' && activityType !== 'a2a-task')
}

/** Those of one type. */
export function ofType({ events }: Page, type: string): AgUiEvent[] {
  return events.filter((event) => event.type === type)
}
