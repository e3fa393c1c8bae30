/**
 * The tasks of another agent in a TaskManager of ours.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { Message } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import { compact } from '../../wire/client/fields.js'
import { textOf } from '../../wire/text.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'
import { isTerminal } from '../run/remote-task.js'
import type { RunResult } from '../run/run-types.js'

/** What an agent tells in the course of one call. */
export interface CallReplica {
  applyEvent(event: RemoteEvent): void
  applyTask(task: RemoteTask): void
  /** How a run ended. Without a result it was given up. */
  conclude(result?: RunResult): void
}

/**
 * Follows what an agent tells. A task of ours that has ended or is gone is left alone; one that cannot hold what the
 * agent sends fails, and says why; where the manager takes no more tasks, there is none. Whoever called is not troubled.
 */
export class TaskReplicator {
  readonly #manager: TaskManager
  readonly #agent: string
  /** Tasks of ours by the ids there, of those that have not ended. */
  readonly #copies = new Map<string, LocalCopy>()

  constructor(manager: TaskManager, agent: string) {
    this.#manager = manager
    this.#agent = agent
  }

  /**
   * One call, which concerns one task. Of a task that is not known yet a copy is made, with where it came from in
   * `metadata.remote`; the task of ours with the id `localId` is it, where one is given.
   */
  startCall(
    request: Message | undefined,
    { localId, isRun = true }: { localId?: string; isRun?: boolean },
  ): CallReplica {
    let copy = localId === undefined ? undefined : new LocalCopy(this.#manager, localId)
    let remoteId: string | undefined
    const copyOf = (id: string, contextId?: string): LocalCopy | undefined => {
      remoteId ??= id
      if (id !== remoteId) return undefined
      copy ??= this.#copies.get(id) ?? this.#createCopy(id, contextId, request)
      if (copy !== undefined) this.#copies.set(id, copy)
      return copy
    }
    const applyTask = (task: RemoteTask): void => {
      const isEnded = isTerminal(task)
      // Of a task that is looked at again, when it has ended, there was a copy.
      if (!isEnded || request !== undefined || copy !== undefined || this.#copies.has(task.id)) {
        copyOf(task.id, task.contextId)?.applyTask(task)
      }
      if (isEnded) this.#copies.delete(task.id)
    }
    return {
      applyTask,
      applyEvent: (event) => {
        if (event.type === 'task') applyTask(event.task)
        // How it ended is taken from the whole task, if somebody looks at that.
        else if (event.type !== 'message' && !(isRun && event.type === 'status' && isTerminal(event))) {
          copyOf(event.taskId, event.contextId)?.applyEvent(event)
          if (event.type === 'status' && isTerminal(event)) this.#copies.delete(event.taskId)
        }
      },
      conclude: (result) => {
        if (result === undefined) copy?.finish('canceled', 'Given up')
        else if (result.type === 'message') copy?.finish('completed', result.text, result.text)
        else if ('error' in result) {
          // What the agent may still be doing can be gone on with.
          const isLost = result.handle.taskId === undefined || result.error.code === 'TASK_NOT_FOUND'
          if (isLost) copy?.finish(result.type === 'aborted' ? 'canceled' : 'failed', result.text)
        } else applyTask(result.task)
        const isResumable = result !== undefined && 'handle' in result
        if (!isResumable && remoteId !== undefined) this.#copies.delete(remoteId)
      },
    }
  }

  /** A task that is looked at: its copy follows, if there is one. */
  applyTask(task: RemoteTask): void {
    this.#copies.get(task.id)?.applyTask(task)
    if (isTerminal(task)) this.#copies.delete(task.id)
  }

  applyEvent(event: RemoteEvent): void {
    if (event.type === 'task') this.applyTask(event.task)
    else if (event.type !== 'message') {
      this.#copies.get(event.taskId)?.applyEvent(event)
      if (event.type === 'status' && isTerminal(event)) this.#copies.delete(event.taskId)
    }
  }

  /** Its conversation is one of ours: agents do not say which. */
  #createCopy(
    taskId: string,
    contextId: string | undefined,
    request: Message | undefined,
  ): LocalCopy | undefined {
    try {
      const remote = compact({ agent: this.#agent, taskId, contextId })
      const input = request === undefined ? null : textOf(request)
      const { id } = this.#manager.createTask({ skill: this.#agent, input, metadata: { remote } })
      const copy = new LocalCopy(this.#manager, id)
      if (request !== undefined) copy.addMessages([request])
      return copy
    } catch (error) {
      if (A2AError.is(error)) return undefined
      throw error
    }
  }
}

/** A task of ours that is what an agent says of its own. */
export class LocalCopy {
  readonly #manager: TaskManager
  readonly #id: string
  readonly #artifacts = new Map<string, string>()
  readonly #messages = new Set<string>()

  constructor(manager: TaskManager, id: string) {
    this.#manager = manager
    this.#id = id
  }

  applyTask(task: RemoteTask): void {
    this.#tryChange(() => {
      for (const artifact of task.artifacts) {
        const text = JSON.stringify(artifact)
        if ((this.#artifacts.get(artifact.artifactId) || this.#storedArtifact(artifact.artifactId)) === text)
          continue
        this.#manager.appendArtifact(this.#id, artifact, { append: false })
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
      this.#manager.appendArtifact(this.#id, artifact, { append, lastChunk })
      // A chunk makes it another one: what it is now, nobody has said.
      this.#artifacts.set(artifact.artifactId, append ? '' : JSON.stringify(artifact))
    })
  }

  addMessages(messages: readonly Message[]): void {
    this.#tryChange(() => this.#addMessages(messages))
  }

  finish(state: TaskState, message: string, output?: JsonValue): void {
    this.#tryChange(() => this.#moveTo(state, message, output))
  }

  /** The artifact as it is here. */
  #storedArtifact(id: string): string | undefined {
    return JSON.stringify(
      this.#manager.peekTask(this.#id)?.artifacts.find(({ artifactId }) => artifactId === id),
    )
  }

  #addMessages(messages: readonly Message[]): void {
    for (const message of messages) {
      if (this.#messages.has(message.messageId)) continue
      this.#messages.add(message.messageId)
      const local = this.#manager.peekTask(this.#id)?.messages ?? []
      if (local.some(({ messageId }) => messageId === message.messageId)) continue
      // The ids of the task and the conversation are those of the agent.
      const said: Message = { ...message }
      delete said.taskId
      delete said.contextId
      this.#manager.addMessage(this.#id, said)
    }
  }

  #tryChange(change: () => void): void {
    try {
      change()
    } catch (error) {
      if (!A2AError.is(error)) throw error
      if (this.#manager.can(this.#id, 'failed')) {
        this.#manager.updateTask(this.#id, { state: 'failed', message: error.message })
      }
    }
  }

  /** Agents jump: from submitted to completed there is a step between. */
  #moveTo(state: TaskState, message?: string | Message, output?: JsonValue): void {
    const local = this.#manager.peekTask(this.#id)
    if (local === null || isTerminal(local)) return
    const said = { ...(message !== undefined && { message }), ...(output !== undefined && { output }) }
    if (local.state !== state) {
      if (!this.#manager.can(this.#id, state) && this.#manager.can(this.#id, 'working')) {
        this.#manager.updateTask(this.#id, { state: 'working' })
      }
      if (this.#manager.can(this.#id, state)) this.#manager.updateTask(this.#id, { state, ...said })
      return
    }
    const hasNewMessage = message !== undefined && JSON.stringify(message) !== JSON.stringify(local.message)
    if (hasNewMessage || output !== undefined) this.#manager.updateTask(this.#id, said)
  }
}
