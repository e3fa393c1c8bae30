/** The official SDK 0.3.14 as a server. */
import type { AgentCard, Message, Part, Task, TaskStatus } from 'a2a-sdk-v0-3'
import {
  DefaultRequestHandler,
  InMemoryTaskStore,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from 'a2a-sdk-v0-3/server'
import { agentCardHandler, jsonRpcHandler, restHandler } from 'a2a-sdk-v0-3/server/express'
import type { TaskState } from 'a2a-tasks'
import type * as wire from 'a2a-tasks/schemas'
import { gate, textOf, type Act, type Agent, type Gate, type Turn } from './agents.js'
import { cardOf, listen, type Binding, type Peer, type ServeOptions } from './support/agent.js'

export function legacyPeer(binding: Binding): Peer {
  return {
    name: `SDK 0.3.14, A2A 0.3 over ${binding}`,
    version: '0.3',
    binding,
    serve: (options) =>
      listen(options, (app, origin) => {
        const requestHandler = handlerOf(legacyCard(options, `${origin}/a2a`, binding), options)
        const userBuilder = () => Promise.resolve({ isAuthenticated: true, userName: 'user-1' })
        const handler = binding === 'JSONRPC' ? jsonRpcHandler : restHandler
        app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
        app.use('/a2a', handler({ requestHandler, userBuilder }))
      }),
  }
}

function legacyCard(options: ServeOptions, url: string, binding: Binding): AgentCard {
  const { name, description, version, capabilities, ...rest } = cardOf(options, url, binding, '0.3')
  const {
    extendedAgentCard = false,
    streaming = false,
    pushNotifications = false,
    extensions = [],
  } = capabilities
  return {
    ...{ name, description, version, url, protocolVersion: '0.3.0', preferredTransport: binding },
    ...{ defaultInputModes: rest.defaultInputModes, defaultOutputModes: rest.defaultOutputModes, skills: [] },
    capabilities: {
      streaming,
      pushNotifications,
      extensions: extensions.map(({ uri = '', required = false }) => ({ uri, required })),
    },
    supportsAuthenticatedExtendedCard: extendedAgentCard,
  }
}

function handlerOf(card: AgentCard, { agent, extended }: ServeOptions): DefaultRequestHandler {
  const extendedCard = typeof extended === 'string' ? { ...card, description: extended } : undefined
  const sender = { send: () => Promise.resolve() }
  return new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executorOf(agent),
    undefined,
    undefined,
    sender,
    extendedCard,
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
      bus.finished()
    },
    cancelTask(taskId, bus) {
      const status = statusOf('canceled')
      bus.publish({ kind: 'status-update', taskId, contextId: '', status, final: true })
      stops.get(taskId)?.open()
      return Promise.resolve()
    },
  }
}

function turnOf({ userMessage, task, referenceTasks = [], context }: RequestContext, stop: Gate): Turn {
  const parts = userMessage.parts.map(toModernPart)
  return {
    ...{ parts, messageId: userMessage.messageId, metadata: userMessage.metadata, text: textOf(parts) },
    requested: undefined,
    references: referenceTasks.map(({ id }) => id),
    extensions: [...(context?.requestedExtensions ?? [])],
    tenant: '',
    isFollowUp: task !== undefined,
    stopped: stop.opened,
  }
}

function publisherOf(context: RequestContext, bus: ExecutionEventBus): (act: Act) => void {
  const { taskId, contextId, userMessage, task } = context
  const ids = { taskId, contextId }
  const publishStatus = (state: TaskState, text?: string): void =>
    bus.publish({
      ...{ kind: 'status-update', ...ids, status: statusOf(state, text, ids) },
      final: !['submitted', 'working'].includes(state),
    })
  let hasBegun = false
  const begin = (): void => {
    if (hasBegun) return
    hasBegun = true
    const fresh: Task = {
      kind: 'task',
      id: taskId,
      contextId,
      history: [userMessage],
      status: statusOf('submitted'),
    }
    bus.publish(task === undefined ? fresh : { ...task, status: statusOf('working') })
    if (task === undefined) publishStatus('working')
  }
  return (act) => {
    if ('reply' in act) {
      bus.publish({ ...messageOf(act.reply), contextId })
      return
    }
    begin()
    if ('status' in act) {
      publishStatus(act.status, act.text)
      return
    }
    const { append = false, lastChunk = false, artifact } = act
    const shown = { ...artifact, artifactId: artifact.artifactId, parts: artifact.parts.map(toLegacyPart) }
    bus.publish({ kind: 'artifact-update', ...ids, append, lastChunk, artifact: shown })
  }
}

function messageOf(parts: readonly wire.Part[]): Message {
  return { kind: 'message', messageId: crypto.randomUUID(), role: 'agent', parts: parts.map(toLegacyPart) }
}

function statusOf(state: TaskState, text?: string, ids: object = {}): TaskStatus {
  const message = text === undefined ? {} : { message: { ...messageOf([{ text }]), ...ids } }
  return { state, timestamp: new Date().toISOString(), ...message }
}

function toLegacyPart(part: wire.Part): Part {
  const { metadata, filename: name, mediaType: mimeType } = part
  const kept = metadata === undefined ? {} : { metadata }
  const file = { ...(name !== undefined && { name }), ...(mimeType !== undefined && { mimeType }) }
  if (part.text !== undefined) return { kind: 'text', text: part.text, ...kept }
  if (part.raw !== undefined) return { kind: 'file', file: { bytes: part.raw, ...file }, ...kept }
  if (part.url !== undefined) return { kind: 'file', file: { uri: part.url, ...file }, ...kept }
  return { kind: 'data', data: part.data as Record<string, unknown>, ...kept }
}

function toModernPart(part: Part): wire.Part {
  const kept = part.metadata === undefined ? {} : { metadata: part.metadata }
  if (part.kind === 'text') return { text: part.text, ...kept } as wire.Part
  if (part.kind === 'data') return { data: part.data, ...kept } as wire.Part
  const { name, mimeType, ...content } = part.file
  const file = { ...(name && { filename: name }), ...(mimeType && { mediaType: mimeType }), ...kept }
  return ('uri' in content ? { url: content.uri, ...file } : { raw: content.bytes, ...file }) as wire.Part
}
