/**
 * Local copies of a remote agent's tasks in a task manager.
 *
 * @module
 */
import { stepsTo } from '../../core/advance.js'
import { withJoinedTexts } from '../../core/artifacts/append-parts.js'
import { A2AError } from '../../core/errors.js'
import { isTerminal, type TaskState } from '../../core/lifecycle.js'
import type { SyncTasks } from '../../core/managers.js'
import type { TaskUpdate } from '../../core/params.js'
import type { Artifact, DeepReadonly, Message } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import { compact } from '../../runtime/compact.js'
import { textOf } from '../../wire/text.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'
import type { RunOptions, RunResult, RunUpdate } from '../run/run-types.js'

/** Applies what one call receives to the local copy of its task. */
export interface CallReplica {
  applyEvent(event: RemoteEvent): void
  applyTask(task: RemoteTask): void
  /** Ends the copy as the run ended. No result means that the run was given up. */
  conclude(result?: RunResult): void
}

/** Called with the id of a copy that has ended, perhaps more than once. */
type OnEnd = (id: string) => void

/** Runs a task and applies its updates and its result to the local copy. */
export async function replicateRun(
  replica: CallReplica,
  options: RunOptions,
  run: (options: RunOptions) => Promise<RunResult>,
): Promise<RunResult> {
  const onUpdate = (update: RunUpdate): void => {
    replica.applyEvent(update.event)
    return options.onUpdate?.(update)
  }
  try {
    const result = await run({ ...options, onUpdate })
    replica.conclude(result)
    return result
  } catch (error) {
    replica.conclude()
    throw error
  }
}

/**
 * Keeps local copies of one agent's tasks. A copy that has ended or was deleted is not changed. A copy that cannot hold
 * what the agent sends becomes `failed`, with the reason. Where the manager refuses another task, there is no copy. None
 * of this affects the call itself.
 */
export class TaskReplicator {
  readonly #tasks: SyncTasks
  readonly #agent: string
  readonly #onEnd: OnEnd | undefined
  /** Copies of unfinished tasks, by the id of the remote task. */
  readonly #copies = new Map<string, LocalCopy>()

  constructor(tasks: SyncTasks, agent: string, onEnd?: OnEnd) {
    this.#tasks = tasks
    this.#agent = agent
    this.#onEnd = onEnd
  }

  /**
   * Starts the replication of one call, which concerns one task. The task `localId` is its copy if given, else a new
   * task with the origin in `metadata.remote`. For a run, the final state is taken from its result.
   */
  startCall(
    request: Message | undefined,
    { localId, isRun = true }: { localId?: string; isRun?: boolean },
  ): CallReplica {
    let copy = localId === undefined ? undefined : new LocalCopy(this.#tasks, localId, this.#onEnd)
    let remoteId: string | undefined
    const copyOf = (id: string, contextId?: string): LocalCopy | undefined => {
      remoteId ??= id
      if (id !== remoteId) return undefined
      copy ??= this.#copies.get(id) ?? this.#createCopy(id, contextId, request)
      if (copy !== undefined) this.#copies.set(id, copy)
      return copy
    }
    const applyTask = (task: RemoteTask): void => {
      const isEnded = isTerminal(task.state)
      // Without a request, an ended task without a copy is one whose copy was finished earlier.
      if (!isEnded || request !== undefined || copy !== undefined || this.#copies.has(task.id)) {
        copyOf(task.id, task.contextId)?.applyTask(task)
      }
      if (isEnded) this.#copies.delete(task.id)
    }
    return {
      applyTask,
      applyEvent: (event) => {
        if (event.type === 'task') applyTask(event.task)
        // A run polls the task in the end, and its result has the final state.
        else if (event.type !== 'message' && !(isRun && event.type === 'status' && isTerminal(event.state))) {
          copyOf(event.taskId, event.contextId)?.applyEvent(event)
          if (event.type === 'status' && isTerminal(event.state)) this.#copies.delete(event.taskId)
        }
      },
      conclude: (result) => {
        if (result === undefined) copy?.finish('canceled', 'Given up')
        else if (result.type === 'message') copy?.finish('completed', result.text, result.text)
        else if ('error' in result) {
          // An unfinished remote task can be resumed, unless the agent does not have it.
          const isLost = result.handle.taskId === undefined || result.error.code === 'TASK_NOT_FOUND'
          if (isLost) copy?.finish(result.type === 'aborted' ? 'canceled' : 'failed', result.text)
        } else applyTask(result.task)
        const isResumable = result !== undefined && 'handle' in result
        if (!isResumable && remoteId !== undefined) this.#copies.delete(remoteId)
      },
    }
  }

  /** Updates the copy of a task, if it has one. */
  applyTask(task: RemoteTask): void {
    this.#copies.get(task.id)?.applyTask(task)
    if (isTerminal(task.state)) this.#copies.delete(task.id)
  }

  /** Updates the copy of the task that `event` is about, if it has one. */
  applyEvent(event: RemoteEvent): void {
    if (event.type === 'task') this.applyTask(event.task)
    else if (event.type !== 'message') {
      this.#copies.get(event.taskId)?.applyEvent(event)
      if (event.type === 'status' && isTerminal(event.state)) this.#copies.delete(event.taskId)
    }
  }

  /** A new local task. It is in its own context: agents do not know local contexts. */
  #createCopy(
    taskId: string,
    contextId: string | undefined,
    request: Message | undefined,
  ): LocalCopy | undefined {
    try {
      const remote = compact({ agent: this.#agent, taskId, contextId })
      const input = request === undefined ? null : textOf(request)
      const handle = compact({ messageId: request?.messageId ?? '', taskId, contextId })
      const { id } = this.#tasks.createTask({ skill: this.#agent, input, metadata: { remote } }, { handle })
      const copy = new LocalCopy(this.#tasks, id, this.#onEnd)
      if (request !== undefined) copy.addMessages([request])
      return copy
    } catch (error) {
      if (A2AError.is(error)) return undefined
      throw error
    }
  }
}

/** A local task that follows a remote one. */
export class LocalCopy {
  readonly #tasks: SyncTasks
  readonly #id: string
  readonly #onEnd: OnEnd | undefined
  readonly #artifacts = new Map<string, string>()
  readonly #messages = new Set<string>()

  constructor(tasks: SyncTasks, id: string, onEnd?: OnEnd) {
    this.#tasks = tasks
    this.#id = id
    this.#onEnd = onEnd
  }

  applyTask(task: RemoteTask): void {
    this.#tryChange(() => {
      for (const artifact of task.artifacts) {
        const text = textOfArtifact(artifact)
        const known = this.#artifacts.get(artifact.artifactId) || this.#storedArtifact(artifact.artifactId)
        if (known !== text) this.#tasks.appendArtifact(this.#id, artifact, { append: false })
        this.#artifacts.set(artifact.artifactId, text)
      }
      this.#addMessages(task.messages)
      this.#moveTo(task.state, task.message)
    })
  }

  applyEvent(event: Exclude<RemoteEvent, { type: 'task' | 'message' }>): void {
    this.#tryChange(() => {
      if (event.type === 'status') {
        this.#moveTo(event.state, event.message)
        return
      }
      const { artifact, lastChunk } = event
      const append = event.append && this.#artifacts.has(artifact.artifactId)
      this.#tasks.appendArtifact(this.#id, artifact, { append, lastChunk })
      // After a chunk, the text of the whole artifact is unknown: '' makes the next snapshot compare the stored one.
      this.#artifacts.set(artifact.artifactId, append ? '' : textOfArtifact(artifact))
    })
  }

  addMessages(messages: readonly Message[]): void {
    this.#tryChange(() => this.#addMessages(messages))
  }

  finish(state: TaskState, message: string, output?: JsonValue): void {
    this.#tryChange(() => this.#moveTo(state, message, output))
  }

  /** The answer of the user goes to the agent. */
  goOn(): void {
    this.#tryChange(() => {
      if (this.#tasks.peekTask(this.#id)?.state === 'input-required')
        this.#tasks.patchTask(this.#id, { state: 'working', message: null })
    })
  }

  /** The stored artifact as JSON. */
  #storedArtifact(id: string): string | undefined {
    const stored = this.#tasks.peekTask(this.#id)?.artifacts.find(({ artifactId }) => artifactId === id)
    return stored && textOfArtifact(stored)
  }

  #addMessages(messages: readonly Message[]): void {
    for (const message of messages) {
      if (this.#messages.has(message.messageId)) continue
      this.#messages.add(message.messageId)
      const local = this.#tasks.peekTask(this.#id)?.messages ?? []
      if (local.some(({ messageId }) => messageId === message.messageId)) continue
      // The ids of task and context are the agent's and mean nothing locally.
      const localMessage: Message = { ...message }
      delete localMessage.taskId
      delete localMessage.contextId
      this.#tasks.addMessage(this.#id, localMessage)
    }
  }

  #tryChange(change: () => void): void {
    try {
      change()
    } catch (error) {
      if (!A2AError.is(error)) throw error
      if (this.#tasks.can(this.#id, 'failed')) {
        this.#tasks.patchTask(this.#id, { state: 'failed', message: error.message })
      }
      this.#onEnd?.(this.#id)
    }
  }

  /** Moves to `state`, or changes what the task has in it. */
  #moveTo(state: TaskState, message?: string | Message, output?: JsonValue): void {
    const local = this.#tasks.peekTask(this.#id)
    if (local === null || isTerminal(local.state)) {
      this.#onEnd?.(this.#id)
      return
    }
    const content = { ...(message !== undefined && { message }), ...(output !== undefined && { output }) }
    if (local.state !== state) {
      this.#advance(local.state, state, content)
      return
    }
    const hasNewMessage = message !== undefined && JSON.stringify(message) !== JSON.stringify(local.message)
    if (hasNewMessage || output !== undefined) this.#tasks.patchTask(this.#id, content)
  }

  /** Takes the shortest legal way: agents may skip states. */
  #advance(from: TaskState, to: TaskState, content: Omit<TaskUpdate, 'state'>): void {
    // No state leads back to `submitted`.
    for (const step of stepsTo(from, to === 'submitted' ? 'working' : to)) {
      if (!this.#tasks.can(this.#id, step)) return
      this.#tasks.patchTask(this.#id, { state: step, ...(step === to && content) })
    }
    if (isTerminal(to)) this.#onEnd?.(this.#id)
  }
}

/** To compare artifacts: the task of an agent may have each chunk of a text as a part of its own. */
function textOfArtifact(artifact: DeepReadonly<Artifact>): string {
  return JSON.stringify(withJoinedTexts(artifact))
}
