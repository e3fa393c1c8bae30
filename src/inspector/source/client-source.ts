/**
 * The tasks of a remote agent, as far as it shows them to a client.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import type { A2AClient } from '../../client/a2a-client.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import type { TaskStreamEvent } from '../../core/events.js'
import { A2A_LIFECYCLE, type Lifecycle, type TaskState } from '../../core/lifecycle.js'
import type { TaskChildren } from '../../views/children.js'
import type { Part, TaskSnapshot } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { PushHealth } from '../../server/push/health.js'
import { answersIn, QUESTIONS } from '../../wire/question/questions.js'
import { textOf } from '../../wire/text.js'
import type { Scope } from '../access.js'
import type { Settings } from '../options.js'
import { SeenTasks, snapshotOf } from './seen-tasks.js'
import type { Change, OutgoingMessage, Reply, SourcePage, SourceQuery, TaskSource } from './source.js'

const MAX_PAGE = 100

export class ClientSource implements TaskSource {
  readonly lifecycle: Lifecycle<string> = A2A_LIFECYCLE
  readonly #client: A2AClient
  readonly #settings: Settings
  readonly #seen: SeenTasks

  constructor(client: A2AClient, settings: Settings) {
    this.#client = client
    this.#settings = settings
    this.#seen = new SeenTasks(settings.clock)
  }

  get card(): AgentCard {
    return this.#client.card
  }

  async page(_scope: Scope, query: SourceQuery, pageSize: number, pageToken?: string): Promise<SourcePage> {
    const { state, contextId, skill, owner, updatedSince, updatedBefore } = query
    if (skill !== undefined || owner !== undefined || updatedBefore !== undefined) {
      throw invalidParams(
        'filter',
        'must not have a skill, an owner or a latest time: agents cannot filter by them',
      )
    }
    const page = await this.#client.listTasks({
      pageSize: Math.min(pageSize, MAX_PAGE),
      includeArtifacts: false,
      ...(state !== undefined && { state: toState(state) }),
      ...(contextId !== undefined && { contextId }),
      ...(updatedSince !== undefined && { since: updatedSince }),
      ...(pageToken !== undefined && { pageToken }),
    })
    const { nextPageToken } = page
    return { tasks: page.tasks.map(snapshotOf), nextCursor: nextPageToken || undefined }
  }

  deadLetters(): Promise<SourcePage> {
    throw unsupported('redrive')
  }

  counts(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  backlog(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  async task(_scope: Scope, taskId: string): Promise<TaskSnapshot<string>> {
    return await this.#see(taskId, 0)
  }

  async events(taskId: string, after: number): Promise<readonly TaskStreamEvent<string>[]> {
    const task = await this.#see(taskId, after)
    return task.generation > after ? [asEvent(task)] : []
  }

  /** Agents do not show the log: each change of the task that is seen becomes an entry. */
  async *follow(taskId: string, after: number, signal: AbortSignal): AsyncGenerator<TaskStreamEvent<string>> {
    for (let latest = after; !signal.aborted;) {
      const task = await this.#see(taskId, latest, signal)
      if (task.generation > latest) yield asEvent(task)
      latest = Math.max(latest, task.generation)
      if (this.lifecycle.terminal.includes(task.state)) return
      await this.#wait(signal)
    }
  }

  children(): Promise<TaskChildren> {
    return Promise.resolve({ tasks: [], delegations: [] })
  }

  webhooks(): Promise<readonly PushHealth[]> {
    return Promise.resolve([])
  }

  async *changes(scope: Scope, signal: AbortSignal): AsyncGenerator<Change> {
    let latest = await this.#heads(scope)
    yield { type: 'resync' }
    for (;;) {
      await this.#wait(signal)
      if (signal.aborted) return
      const now = await this.#heads(scope)
      if (now !== latest) yield { type: 'resync' }
      latest = now
    }
  }

  async send(_scope: Scope, { parts, taskId, contextId }: OutgoingMessage): Promise<Reply> {
    const isAnswer = answersIn({ parts }) !== undefined
    const result = await this.#client.send(
      {
        parts: structuredClone(parts) as Part[],
        taskId,
        contextId,
        ...(isAnswer && { extensions: [QUESTIONS] }),
      },
      { returnImmediately: true },
    )
    return result.type === 'task' ? { taskId: result.task.id } : { text: textOf(result.message) }
  }

  async cancel(_scope: Scope, { id }: TaskSnapshot<string>): Promise<void> {
    await this.#client.cancelTask(id)
  }

  redeliver(): Promise<boolean> {
    throw unsupported('redeliver')
  }

  fork(): Promise<Reply> {
    throw unsupported('fork')
  }

  redrive(): Promise<Reply> {
    throw unsupported('redrive')
  }

  delete(): Promise<void> {
    throw unsupported('delete')
  }

  async #see(taskId: string, after: number, signal?: AbortSignal): Promise<TaskSnapshot<string>> {
    return await this.#seen.see(await this.#client.getTask(taskId, { signal }), after)
  }

  async #heads(scope: Scope): Promise<string> {
    const { tasks } = await this.page(scope, {}, MAX_PAGE)
    return tasks.map(({ id, state, updatedAt }) => `${id} ${state} ${updatedAt}`).join('\n')
  }

  async #wait(signal: AbortSignal): Promise<void> {
    await pause(this.#settings.clock, this.#settings.pollIntervalMs, signal)
  }
}

function unsupported(operation: string): A2AError {
  return new A2AError('UNSUPPORTED_OPERATION', `Agents have no operation "${operation}"`, { operation })
}

async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  let stop = (): void => undefined
  await new Promise<void>((resolve) => {
    const cancel = clock.schedule(resolve, delayMs)
    const ignore = onAbort(signal, resolve)
    stop = () => {
      cancel()
      ignore()
    }
  })
  stop()
}

function toState(state: string): TaskState {
  const known = A2A_LIFECYCLE.states.find((each) => each === (state === 'cancelled' ? 'canceled' : state))
  if (known === undefined) throw invalidParams('state', `must be one of ${A2A_LIFECYCLE.states.join(', ')}`)
  return known
}

function asEvent(task: TaskSnapshot<string>): TaskStreamEvent<string> {
  return { type: 'snapshot', taskId: task.id, generation: task.generation, timestamp: task.updatedAt, task }
}
