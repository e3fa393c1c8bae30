/** Executors for `@a2a-js/sdk` 1.x, as its pages and samples write them. */
import { Role, TaskState, type Artifact, type Message, type Part, type Task } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server'

export function part(text: string): Part {
  return {
    content: { $case: 'text', value: text },
    metadata: undefined,
    filename: '',
    mediaType: 'text/plain',
  }
}

export function say(
  text: string,
  { taskId, contextId }: Pick<RequestContext, 'taskId' | 'contextId'>,
): Message {
  return {
    ...{ messageId: crypto.randomUUID(), role: Role.ROLE_AGENT, parts: [part(text)], taskId, contextId },
    ...{ metadata: undefined, extensions: [], referenceTaskIds: [] },
  }
}

export function textOf(message: Message): string {
  return message.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}

/** Publishes in a few words what the SDK has many for. */
export class Publisher {
  readonly #context: RequestContext
  readonly #bus: ExecutionEventBus

  constructor(context: RequestContext, bus: ExecutionEventBus) {
    this.#context = context
    this.#bus = bus
  }

  task(more: Partial<Task> = {}): void {
    const { taskId: id, contextId, task, userMessage } = this.#context
    const fresh: Task = {
      ...{ id, contextId, artifacts: [], history: [userMessage], metadata: userMessage.metadata },
      status: status(TaskState.TASK_STATE_SUBMITTED),
    }
    this.#bus.publish(AgentEvent.task({ ...(task ?? fresh), ...more }))
  }

  status(state: TaskState, text?: string): void {
    const { taskId, contextId } = this.#context
    const message = text === undefined ? undefined : say(text, this.#context)
    this.#bus.publish(
      AgentEvent.statusUpdate({ taskId, contextId, status: status(state, message), metadata: undefined }),
    )
  }

  artifact(text: string, { append = false, lastChunk = true, artifactId = 'result' } = {}): void {
    const { taskId, contextId } = this.#context
    const artifact: Artifact = {
      ...{ artifactId, name: 'Result', description: '', parts: text === '' ? [] : [part(text)] },
      ...{ metadata: undefined, extensions: [] },
    }
    this.#bus.publish(
      AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }),
    )
  }
}

function status(state: TaskState, message?: Message): NonNullable<Task['status']> {
  return { state, message, timestamp: new Date().toISOString() }
}

/** Replies with a message, after a wait. */
export class HelloExecutor implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    await pause()
    bus.publish(AgentEvent.message(say(`Hello, ${textOf(context.userMessage)}!`, context)))
    bus.finished()
  }

  async cancelTask(): Promise<void> {}
}

/** The SDK's sample agent: a task, progress, an artifact, the end. */
export class SampleExecutor implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    publish.task()
    publish.status(TaskState.TASK_STATE_WORKING, 'Processing your question')
    await pause()
    publish.artifact(`Hello World! You said: '${textOf(context.userMessage)}'`)
    publish.status(TaskState.TASK_STATE_COMPLETED)
  }

  async cancelTask(): Promise<void> {}
}

/** Streams an artifact in chunks, and closes it with an empty one. */
export class StreamingExecutor implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    publish.task()
    publish.status(TaskState.TASK_STATE_WORKING)
    for (const [index, text] of ['One ', 'two ', 'three'].entries()) {
      await pause()
      publish.artifact(text, { append: index > 0, lastChunk: index === 2 })
    }
    publish.status(TaskState.TASK_STATE_COMPLETED, 'Counted')
    bus.finished()
  }

  async cancelTask(): Promise<void> {}
}

/** The SDK's cancellable agent: notes the id, and looks at each step whether to continue. */
export class CancellableExecutor implements AgentExecutor {
  readonly canceled = new Set<string>()
  readonly calls: string[] = []

  readonly cancelTask = (taskId: string): Promise<void> => {
    this.calls.push(taskId)
    this.canceled.add(taskId)
    return Promise.resolve()
  }

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    publish.task()
    publish.status(TaskState.TASK_STATE_WORKING)
    while (!this.canceled.has(context.taskId)) await pause()
    publish.status(TaskState.TASK_STATE_CANCELED, 'Task cancelled by user')
  }
}

/** Asks for a name, returns, and greets in the next turn. */
export class AskingExecutor implements AgentExecutor {
  readonly seen: (TaskState | undefined)[] = []

  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    this.seen.push(context.task?.status?.state)
    publish.task()
    await pause()
    if (context.task === undefined) publish.status(TaskState.TASK_STATE_INPUT_REQUIRED, 'What is your name?')
    else {
      publish.artifact(`Hello ${textOf(context.userMessage)}`)
      publish.status(TaskState.TASK_STATE_COMPLETED)
    }
  }

  async cancelTask(): Promise<void> {}
}

/** Fails after it has begun. */
export class FailingExecutor implements AgentExecutor {
  async execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    new Publisher(context, bus).task()
    await pause()
    throw new Error('The database is away')
  }

  async cancelTask(): Promise<void> {}
}

export class RejectingExecutor implements AgentExecutor {
  execute(context: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const publish = new Publisher(context, bus)
    publish.task()
    publish.status(TaskState.TASK_STATE_REJECTED, 'Not my work')
    return Promise.resolve()
  }

  async cancelTask(): Promise<void> {}
}

/** Lets everything else of the process happen that can happen. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
