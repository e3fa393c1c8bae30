/** Executors for `@a2a-js/sdk` 0.3, as its README writes them. */
import type { Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus } from 'a2a-sdk-v0-3'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from 'a2a-sdk-v0-3/server'
import { pause } from './modern-executors.js'

function say(text: string, { taskId, contextId }: Pick<RequestContext, 'taskId' | 'contextId'>): Message {
  const messageId = crypto.randomUUID()
  return { kind: 'message', messageId, role: 'agent', parts: [{ kind: 'text', text }], taskId, contextId }
}

export function textOf({ parts }: Message): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
}

export class Publisher {
  readonly #context: RequestContext
  readonly #bus: ExecutionEventBus

  constructor(context: RequestContext, bus: ExecutionEventBus) {
    this.#context = context
    this.#bus = bus
  }

  /** As the README has it: only if there is none. */
  task(): void {
    const { taskId: id, contextId, task, userMessage } = this.#context
    if (task !== undefined) return
    const fresh: Task = { kind: 'task', id, contextId, history: [userMessage], status: status('submitted') }
    this.#bus.publish(fresh)
  }

  status(state: TaskState, text?: string, final = !['submitted', 'working'].includes(state)): void {
    const { taskId, contextId } = this.#context
    const message = text === undefined ? undefined : say(text, this.#context)
    this.#bus.publish({ kind: 'status-update', taskId, contextId, status: status(state, message), final })
  }

  artifact(text: string, more: Partial<TaskArtifactUpdateEvent> = {}): void {
    const { taskId, contextId } = this.#context
    const artifact = { artifactId: 'result', name: 'Result', parts: [{ kind: 'text' as const, text }] }
    this.#bus.publish({ kind: 'artifact-update', taskId, contextId, artifact, ...more })
  }
}

function status(state: TaskState, message?: Message): TaskStatus {
  return { state, timestamp: new Date().toISOString(), ...(message && { message }) }
}

export class HelloExecutor implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    await pause()
    bus.publish(say(`Hello, ${textOf(context.userMessage)}!`, context))
    bus.finished()
  }

  cancelTask = async (): Promise<void> => {}
}

/** The README's agent with a task: the first event, an artifact, the final status. */
export class SampleExecutor implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    publish.task()
    publish.status('working', 'Processing your question')
    await pause()
    publish.artifact(`Hello World! You said: '${textOf(context.userMessage)}'`)
    publish.status('completed')
    bus.finished()
  }

  cancelTask = async (): Promise<void> => {}
}

export class StreamingExecutor implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    publish.task()
    publish.status('working')
    for (const [index, text] of ['One ', 'two ', 'three'].entries()) {
      await pause()
      publish.artifact(text, { append: index > 0, lastChunk: index === 2 })
    }
    publish.status('completed', 'Counted')
    bus.finished()
  }

  cancelTask = async (): Promise<void> => {}
}

export class CancellableExecutor implements AgentExecutor {
  readonly canceled = new Set<string>()
  readonly calls: string[] = []

  cancelTask = (taskId: string): Promise<void> => {
    this.calls.push(taskId)
    this.canceled.add(taskId)
    return Promise.resolve()
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    publish.task()
    publish.status('working')
    while (!this.canceled.has(context.taskId)) await pause()
    publish.status('canceled', 'Task cancelled by user')
    bus.finished()
  }
}

export class AskingExecutor implements AgentExecutor {
  readonly seen: (TaskState | undefined)[] = []

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    this.seen.push(context.task?.status.state)
    publish.task()
    await pause()
    if (context.task === undefined) publish.status('input-required', 'What is your name?')
    else {
      publish.artifact(`Hello ${textOf(context.userMessage)}`)
      publish.status('completed')
    }
    bus.finished()
  }

  cancelTask = async (): Promise<void> => {}
}

export class FailingExecutor implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    new Publisher(context, bus).task()
    await pause()
    throw new Error('The database is away')
  }

  cancelTask = async (): Promise<void> => {}
}

export class RejectingExecutor implements AgentExecutor {
  execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    publish.task()
    publish.status('rejected', 'Not my work')
    bus.finished()
    return Promise.resolve()
  }

  cancelTask = async (): Promise<void> => {}
}
