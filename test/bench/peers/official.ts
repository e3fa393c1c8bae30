/**
 * The official SDK's store, result manager and event bus, driven the way its DefaultRequestHandler drives them: the
 * agent publishes on the bus, and the loop that serves the client takes from the queue and has each event stored.
 */
import { Role, TaskState, type Message, type Part, type Task } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultExecutionEventBus,
  ExecutionEventQueue,
  InMemoryTaskStore,
  ResultManager,
  ServerCallContext,
  type AgentExecutionEvent,
  type TaskStore,
} from '@a2a-js/sdk/server'
import { YIELD_EVERY, yieldToLoop } from '../workload.js'

export interface OfficialStream {
  /** The task as it is stored at the end. */
  readonly task: Task | undefined
  /** How many events the client got. */
  readonly received: number
}

/** One task, from its submission to its end, with `count` events between. */
export async function streamOfficial(
  count: number,
  eventOf: (taskId: string, index: number) => AgentExecutionEvent,
  store: TaskStore = new InMemoryTaskStore(),
): Promise<OfficialStream> {
  const context = new ServerCallContext()
  const bus = new DefaultExecutionEventBus()
  const queue = new ExecutionEventQueue(bus)
  const results = new ResultManager(store, context)
  const serve = async (): Promise<number> => {
    let received = 0
    for await (const event of queue.events()) {
      await results.processEvent(event)
      received += 1
    }
    return received
  }
  const client = serve()
  const task = officialTask(crypto.randomUUID(), { state: TaskState.TASK_STATE_WORKING })
  bus.publish(AgentEvent.task(task))
  for (let index = 0; index < count; index++) {
    bus.publish(eventOf(task.id, index))
    if ((index + 1) % YIELD_EVERY === 0) await yieldToLoop()
  }
  bus.publish(statusOf(task.id, TaskState.TASK_STATE_COMPLETED))
  const received = await client
  return { task: await store.load(task.id, context), received }
}

export function chunkOf(taskId: string, artifactId: string, text: string): AgentExecutionEvent {
  return AgentEvent.artifactUpdate({
    taskId,
    contextId: 'context',
    artifact: {
      ...{ artifactId, name: '', description: '', parts: [textPart(text)] },
      ...{ metadata: undefined, extensions: [] },
    },
    append: true,
    lastChunk: false,
    metadata: undefined,
  })
}

export function statusOf(taskId: string, state: TaskState, text?: string): AgentExecutionEvent {
  const message = text === undefined ? undefined : officialMessage(text, Role.ROLE_AGENT)
  const timestamp = new Date().toISOString()
  return AgentEvent.statusUpdate({
    ...{ taskId, contextId: 'context', metadata: undefined },
    status: { state, message, timestamp },
  })
}

export interface OfficialTaskFields {
  readonly state: TaskState
  readonly contextId?: string
  readonly timestamp?: string
  readonly history?: Message[]
}

export function officialTask(id: string, fields: OfficialTaskFields): Task {
  const { state, contextId = 'context', timestamp = new Date().toISOString(), history = [] } = fields
  const status = { state, message: undefined, timestamp }
  return { id, contextId, status, artifacts: [], history, metadata: undefined }
}

export function officialMessage(text: string, role: Role): Message {
  return {
    ...{ messageId: crypto.randomUUID(), contextId: '', taskId: '', role, parts: [textPart(text)] },
    ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
  }
}

function textPart(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }
}
