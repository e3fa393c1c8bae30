/**
 * The official SDK's server: its `DefaultRequestHandler` over its `InMemoryTaskStore`, with executors that do what ours
 * do and end with the same task.
 */
import { TaskState, type AgentCard, type Message, type Part } from '@a2a-js/sdk'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  type AgentExecutionEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { chunkOf, officialTask, statusOf } from './official.js'

/** What an executor does between its first event and its last: given the task's id, and what to publish with. */
export type Work = (publish: (event: AgentExecutionEvent) => void, taskId: string) => Promise<void> | void

/** An executor that announces the task with the user's message, as its samples do, works, and completes the task. */
export function executorOf(work: (text: string) => Work): AgentExecutor {
  return {
    async execute({ taskId, contextId, userMessage, task }: RequestContext, bus: ExecutionEventBus) {
      const fields = { state: TaskState.TASK_STATE_WORKING, contextId, history: [userMessage] }
      if (task === undefined) bus.publish(AgentEvent.task(officialTask(taskId, fields)))
      await work(textOfMessage(userMessage))((event) => {
        bus.publish(withContext(event, contextId))
      }, taskId)
      bus.publish(withContext(statusOf(taskId, TaskState.TASK_STATE_COMPLETED), contextId))
    },
    cancelTask: () => Promise.resolve(),
  }
}

/** One artifact with one text. */
export function answerWith(text: string): Work {
  return (publish, taskId) => {
    const event = chunkOf(taskId, crypto.randomUUID(), text)
    if (event.kind === 'artifactUpdate') publish(AgentEvent.artifactUpdate({ ...event.data, append: false }))
  }
}

export function officialHandler(executor: AgentExecutor): DefaultRequestHandler {
  return new DefaultRequestHandler(CARD, new InMemoryTaskStore(), executor)
}

function withContext(event: AgentExecutionEvent, contextId: string): AgentExecutionEvent {
  if (event.kind === 'statusUpdate' || event.kind === 'artifactUpdate') event.data.contextId = contextId
  return event
}

function textOfMessage({ parts }: Message): string {
  return parts.map(({ content }: Part) => (content?.$case === 'text' ? content.value : '')).join('')
}

const CARD: AgentCard = {
  ...{ name: 'Bench', description: 'Answers at once', version: '1.0.0', provider: undefined },
  supportedInterfaces: [
    { url: 'http://localhost/', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
  ],
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
  ...{ securitySchemes: {}, securityRequirements: [], signatures: [] },
  ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [] },
}
