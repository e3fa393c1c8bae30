/** The official SDK 1.3.0 as a server: A2A 1.0, and the 0.3 that it has built in. */
import { AgentCard, Message, StreamResponse, Task } from '@a2a-js/sdk'
import {
  DefaultRequestHandler,
  InMemoryTaskStore,
  type AgentExecutionEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express'
import type { TaskState } from 'a2a-tasks'
import type * as wire from 'a2a-tasks/schemas'
import { gate, textOf, type Act, type Agent, type Gate, type Turn } from './agents.js'
import {
  cardOf,
  listen,
  MIME,
  type Binding,
  type Peer,
  type ServeOptions,
  type Version,
} from './support/agent.js'

export function modernPeer(version: Version, binding: Binding): Peer {
  return {
    name: `SDK 1.3.0, A2A ${version} over ${binding}`,
    version,
    binding,
    serve: (options) =>
      listen(options, (app, origin) => {
        const card = AgentCard.fromJSON(cardOf(options, `${origin}/a2a`, binding, version))
        const requestHandler = handlerOf(card, options)
        // The transport has authenticated the caller.
        const userBuilder = () => Promise.resolve({ isAuthenticated: true, userName: 'user-1' })
        const legacyCompat = { enabled: version === '0.3' }
        const handler = binding === 'JSONRPC' ? jsonRpcHandler : restHandler
        app.use(
          '/.well-known/agent-card.json',
          agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
        )
        app.use('/a2a', handler({ requestHandler, userBuilder, legacyCompat }))
      }),
  }
}

function handlerOf(
  card: AgentCard,
  { agent, extended, checkModes = false }: ServeOptions,
): DefaultRequestHandler {
  const extendedCard = typeof extended === 'string' ? { ...card, description: extended } : undefined
  return new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executorOf(agent),
    undefined,
    undefined,
    { send: () => Promise.resolve() },
    extendedCard,
    undefined,
    { validateInputModes: checkModes },
  )
}

function executorOf(agent: Agent): AgentExecutor {
  const stops = new Map<string, Gate>()
  return {
    async execute(context, bus) {
      const stop = gate()
      stops.set(context.taskId, stop)
      const publish = publisherOf(context, bus)
      for await (const act of agent(turnOf(context, stop))) publish(act)
    },
    cancelTask(taskId, bus) {
      bus.publish(eventOf({ statusUpdate: { taskId, contextId: '', status: statusOf('canceled') } }))
      stops.get(taskId)?.open()
      return Promise.resolve()
    },
  }
}

function turnOf(given: RequestContext, stop: Gate): Turn {
  const { userMessage, task, referenceTasks = [], context, request } = given
  const { parts, messageId, metadata } = Message.toJSON(userMessage) as wire.Message
  return {
    ...{ parts, messageId, metadata, text: textOf(parts) },
    requested: request.metadata,
    references: referenceTasks.map(({ id }) => id),
    extensions: [...(context.requestedExtensions ?? [])],
    tenant: context.tenant ?? '',
    isFollowUp: task !== undefined,
    stopped: stop.opened,
  }
}

function publisherOf(context: RequestContext, bus: ExecutionEventBus): (act: Act) => void {
  const { taskId, contextId, userMessage, task } = context
  const ids = { taskId, contextId }
  const publish = (event: wire.StreamResponse): void => bus.publish(eventOf(event))
  let hasBegun = false
  // Every turn begins with the task, it demands.
  const begin = (): void => {
    if (hasBegun) return
    hasBegun = true
    const current = task === undefined ? undefined : (Task.toJSON(task) as wire.Task)
    const history = [Message.toJSON(userMessage) as wire.Message]
    const state = current === undefined ? 'submitted' : 'working'
    publish({ task: { id: taskId, contextId, history, ...current, status: statusOf(state) } })
    if (current === undefined) publish({ statusUpdate: { ...ids, status: statusOf('working') } })
  }
  return (act) => {
    if ('reply' in act) {
      publish({ message: { ...messageOf([...act.reply]), contextId } })
      return
    }
    begin()
    if ('status' in act) publish({ statusUpdate: { ...ids, status: statusOf(act.status, act.text, ids) } })
    else publish({ artifactUpdate: { ...ids, append: false, lastChunk: false, ...act } })
  }
}

function messageOf(parts: wire.Part[]): wire.Message {
  return { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts }
}

function statusOf(state: TaskState, text?: string, ids: object = {}): wire.Task['status'] {
  return {
    // Their names differ by case and dashes.
    state: `TASK_STATE_${state.toUpperCase().replace('-', '_')}` as wire.TaskState,
    timestamp: new Date().toISOString(),
    ...(text !== undefined && { message: { ...messageOf([{ text, mediaType: MIME }]), ...ids } }),
  }
}

function eventOf(event: wire.StreamResponse): AgentExecutionEvent {
  const { payload } = StreamResponse.fromJSON(event)
  if (payload === undefined) throw new Error('This is no event')
  // The SDK has the same pairs of names and values.
  return { kind: payload.$case, data: payload.value } as AgentExecutionEvent
}
