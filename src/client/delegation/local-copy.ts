/**
 * The tasks of another agent in a TaskManager of ours.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { JsonValue, Message } from '../../core/task.js'
import { compact } from '../../wire/client/fields.js'
import { textOf } from '../../wire/text.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'
import { hasEnded } from '../run/remote-task.js'
import type { RunResult } from '../run/run-types.js'

/** What an agent tells in the course of one call. */
export interface Follower {
  heard(event: RemoteEvent): void
  saw(task: RemoteTask): void
  /** How a run ended. Without a result it was given up. */
  conclude(result?: RunResult): void
}

/**
 * Follows what an agent tells. A task of ours that has ended or is gone is left alone; one that cannot hold what the
 * agent sends fails, and says why; where the manager takes no more tasks, there is none. Whoever called is not troubled.
 */
export class Mirror {
  readonly #manager: TaskManager
  readonly #agent: string
  /** Tasks of ours by the ids there, of those that have not ended. */
  readonly #copies = new Map<string, Copy>()

  constructor(manager: TaskManager, agent: string) {
    this.#manager = manager
    this.#agent = agent
  }

  /**
   * One call, which concerns one task. Of a task that is not known yet a copy is made, with where it came from in
   * `metadata.remote`; the task of ours with the id `localId` is it, where one is given.
   */
  follow(
    asked: Message | undefined,
    { localId, isWatched = true }: { localId?: string; isWatched?: boolean },
  ): Follower {
    let copy = localId === undefined ? undefined : new Copy(this.#manager, localId)
    let remoteId: string | undefined
    const copyOf = (id: string, contextId?: string): Copy | undefined => {
      remoteId ??= id
      if (id !== remoteId) return undefined
      copy ??= this.#copies.get(id) ?? this.#make(id, contextId, asked)
      if (copy !== undefined) this.#copies.set(id, copy)
      return copy
    }
    const saw = (task: RemoteTask): void => {
      const isOver = hasEnded(task)
      // Of a task that is looked at again, when it has ended, there was a copy.
      if (!isOver || asked !== undefined || copy !== undefined || this.#copies.has(task.id)) {
        copyOf(task.id, task.contextId)?.saw(task)
      }
      if (isOver) this.#copies.delete(task.id)
    }
    return {
      saw,
      heard: (event) => {
        if (event.type === 'task') saw(event.task)
        // How it ended is taken from the whole task, if somebody looks at that.
        else if (event.type !== 'message' && !(isWatched && event.type === 'status' && hasEnded(event))) {
          copyOf(event.taskId, event.contextId)?.heard(event)
          if (event.type === 'status' && hasEnded(event)) this.#copies.delete(event.taskId)
        }
      },
      conclude: (result) => {
        if (result === undefined) copy?.end('canceled', 'Given up')
        else if (result.type === 'message') copy?.end('completed', result.text, result.text)
        else if ('error' in result) {
          // What the agent may still be doing can be gone on with.
          const isGone = result.handle.taskId === undefined || result.error.code === 'TASK_NOT_FOUND'
          if (isGone) copy?.end(result.type === 'aborted' ? 'canceled' : 'failed', result.text)
        } else saw(result.task)
        const isLive = result !== undefined && 'handle' in result
        if (!isLive && remoteId !== undefined) this.#copies.delete(remoteId)
      },
    }
  }

  /** A task that is looked at: its copy follows, if there is one. */
  saw(task: RemoteTask): void {
    this.#copies.get(task.id)?.saw(task)
    if (hasEnded(task)) this.#copies.delete(task.id)
  }

  heard(event: RemoteEvent): void {
    if (event.type === 'task') this.saw(event.task)
    else if (event.type !== 'message') {
      this.#copies.get(event.taskId)?.heard(event)
      if (event.type === 'status' && hasEnded(event)) this.#copies.delete(event.taskId)
    }
  }

  /** Its conversation is one of ours: agents do not say which. */
  #make(taskId: string, contextId: string | undefined, asked: Message | undefined): Copy | undefined {
    try {
      const remote = compact({ agent: this.#agent, taskId, contextId })
      const input = asked === undefined ? null : textOf(asked)
      const { id } = this.#manager.createTask({ skill: this.#agent, input, metadata: { remote } })
      const copy = new Copy(this.#manager, id)
      if (asked !== undefined) copy.add([asked])
      return copy
    } catch (error) {
      if (A2AError.is(error)) return undefined
      throw error
    }
  }
}

/** A task of ours that is what an agent says of its own. */
export class Copy {
  readonly #manager: TaskManager
  readonly #id: string
  readonly #artifacts = new Map<string, string>()
  readonly #messages = new Set<string>()

  constructor(manager: TaskManager, id: string) {
    this.#manager = manager
    this.#id = id
  }

  saw(task: RemoteTask): void {
    this.#change(() => {
      for (const artifact of task.artifacts) {
        const text = JSON.stringify(artifact)
        if ((this.#artifacts.get(artifact.artifactId) || this.#textOf(artifact.artifactId)) === text) continue
        this.#manager.appendArtifact(this.#id, artifact, { append: false })
        this.#artifacts.set(artifact.artifactId, text)
      }
      this.#add(task.messages)
      this.#move(task.state, task.message)
    })
  }

  heard(event: Exclude<RemoteEvent, { type: 'task' | 'message' }>): void {
    this.#change(() => {
      if (event.type === 'status') {
        this.#move(event.state, event.message)
        return
      }
      const { artifact, lastChunk } = event
      const append = event.append && this.#artifacts.has(artifact.artifactId)
      this.#manager.appendArtifact(this.#id, artifact, { append, lastChunk })
      // A chunk makes it another one: what it is now, nobody has said.
      this.#artifacts.set(artifact.artifactId, append ? '' : JSON.stringify(artifact))
    })
  }

  add(messages: readonly Message[]): void {
    this.#change(() => this.#add(messages))
  }

  end(state: TaskState, message: string, output?: JsonValue): void {
    this.#change(() => this.#move(state, message, output))
  }

  /** The artifact as it is here. */
  #textOf(id: string): string | undefined {
    return JSON.stringify(
      this.#manager.peekTask(this.#id)?.artifacts.find(({ artifactId }) => artifactId === id),
    )
  }

  #add(messages: readonly Message[]): void {
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

  #change(change: () => void): void {
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
  #move(state: TaskState, message?: string | Message, output?: JsonValue): void {
    const local = this.#manager.peekTask(this.#id)
    if (local === null || hasEnded(local)) return
    const said = { ...(message !== undefined && { message }), ...(output !== undefined && { output }) }
    if (local.state !== state) {
      if (!this.#manager.can(this.#id, state) && this.#manager.can(this.#id, 'working')) {
        this.#manager.updateTask(this.#id, { state: 'working' })
      }
      if (this.#manager.can(this.#id, state)) this.#manager.updateTask(this.#id, { state, ...said })
      return
    }
    const isNews = message !== undefined && JSON.stringify(message) !== JSON.stringify(local.message)
    if (isNews || output !== undefined) this.#manager.updateTask(this.#id, said)
  }
}
