/**
 * Inbound tasks, each with a session that works on it.
 *
 * @module
 */
import { hasLoneSurrogate } from '../../core/json.js'
import { firstChars } from '../../runtime/cut.js'
import { describe } from '../../runtime/describe.js'
import type { Clock } from '../../runtime/clock.js'
import { defineLifecycle } from '../../core/lifecycle.js'
import { TaskManager } from '../../core/task-manager.js'
import type { TaskSnapshot } from '../../core/task.js'
import { Timeline, type Deadline } from '../../core/timeline.js'
import { textOf } from '../../wire/text.js'
import { NotFoundError } from './errors.js'
import { readSessionEvent } from './events.js'
import { toInboundParams } from './params.js'
import { SessionSubscription } from './session.js'
import type { A2AMessage, A2ATask, A2ATaskDeps, A2ATaskState, InboundAgent, InboundSession } from './types.js'
import type { ErrorContext } from '../../server/options.js'

/** States only move forward. A task fails from `submitted` when no session can be created for it. */
const FORWARD = defineLifecycle({
  submitted: ['working', 'failed'],
  working: ['completed', 'failed'],
  completed: [],
  failed: [],
})
const TIMEOUT_MESSAGE = 'Task timed out'
const NAME_LENGTH = 50

export interface InboundStoreOptions {
  readonly clock: Clock
  readonly maxTasks: number | undefined
  readonly maxDepth: number
  readonly onError: (error: unknown, context: ErrorContext) => void
}

/** Keeps the message as the task's input and the session's id as its output: both are set once. */
export class InboundStore {
  readonly clock: Clock
  readonly #tasks: TaskManager<A2ATaskState>
  readonly #timeline: Timeline
  readonly #maxDepth: number
  readonly #onError: InboundStoreOptions['onError']
  /** The subscriptions of tasks that are worked on, with their time limits. */
  readonly #subscriptions = new Map<SessionSubscription, Deadline>()

  constructor({ clock, maxTasks, maxDepth, onError }: InboundStoreOptions) {
    this.clock = clock
    this.#maxDepth = maxDepth
    this.#onError = onError
    this.#timeline = new Timeline(clock)
    this.#tasks = new TaskManager({
      lifecycle: FORWARD,
      clock,
      maxTasks,
      whenFull: 'evict-terminal',
      expiryMs: Infinity,
      // No stream reads the log.
      eventLogSize: 1,
    })
  }

  send<Db, Session extends InboundSession>(deps: A2ATaskDeps<Db, Session>, body: unknown): A2ATask {
    const { message, skill, timeoutMs, depth } = toInboundParams(body, this.#maxDepth)
    const agent = this.#agentsOf(deps).find(({ defaultProjectId }) => defaultProjectId)
    if (!agent?.defaultProjectId) throw new NotFoundError('Agent with default project')
    let task = this.#tasks.createTask({ id: deps.generateId?.(), skill, input: message })
    const subscription = new SessionSubscription(task.id, deps.processManager)
    try {
      this.#subscriptions.set(
        subscription,
        this.#timeline.add(timeoutMs, () => this.#timeOut(subscription)),
      )
      const session = deps.createSession(deps.db, {
        projectId: agent.defaultProjectId,
        agentId: agent.id,
        name: `A2A Task: ${firstChars(message, NAME_LENGTH)}`,
        initialPrompt: message,
        source: 'agent',
      })
      const sessionId = this.#idOf(session, subscription)
      // The functions of `deps` may clear the store, and the task must not begin then.
      if (!subscription.isClosed) {
        task = this.#tasks.updateTask(task.id, { state: 'working', output: sessionId })
        this.#subscribe(subscription, sessionId)
      }
      if (!subscription.isClosed) {
        const options = { schedulerMode: true, ...(depth !== undefined && { depth }) } as const
        this.#start(subscription, () => deps.processManager.startProcess(session, message, options))
      }
    } catch (error) {
      this.#end(subscription, 'failed')
      throw error
    }
    // Read again: the session may have ended within the calls.
    return this.get(task.id) ?? toA2ATask(task)
  }

  get(taskId: string): A2ATask | null {
    const task = this.#tasks.peekTask(taskId)
    return task === null ? null : toA2ATask(task)
  }

  /** Drops all tasks. Their sessions continue, and their events are ignored. */
  clear(): void {
    for (const subscription of [...this.#subscriptions.keys()]) this.#close(subscription)
    this.#tasks.destroy()
  }

  /** @throws {TypeError} when `listAgents` returns no array. */
  #agentsOf<Db>(deps: Pick<A2ATaskDeps<Db>, 'listAgents' | 'db'>): readonly InboundAgent[] {
    const agents: unknown = deps.listAgents(deps.db)
    // The array is the integrator's own: its elements are not checked.
    if (Array.isArray(agents)) return agents as readonly InboundAgent[]
    this.#watch(agents, { during: 'listAgents' })
    throw new TypeError(`"deps.listAgents" must return an array, got ${describe(agents)}`)
  }

  /** @throws {TypeError} when `createSession` returns no session, or a promise of one. */
  #idOf(session: unknown, { taskId }: SessionSubscription): string {
    const id = typeof session === 'object' && session !== null && 'id' in session ? session.id : undefined
    if (typeof id === 'string' && id !== '') {
      if (!hasLoneSurrogate(id)) return id
      throw new TypeError('"deps.createSession" must return a session whose id has no lone surrogate')
    }
    this.#watch(session, { during: 'createSession', taskId })
    throw new TypeError(`"deps.createSession" must return a session with an id, got ${describe(session)}`)
  }

  /** Subscribes to the session. When that fails later, the task fails and the session is stopped. */
  #subscribe(subscription: SessionSubscription, sessionId: string): void {
    const result = subscription.subscribe(sessionId, (event) => this.#receive(subscription, event))
    this.#watch(result, { during: 'subscribe', taskId: subscription.taskId }, () => {
      if (!subscription.isClosed) this.#abort(subscription)
    })
    if (subscription.isClosed) this.#close(subscription)
  }

  /** Starts the session. Throws what `startProcess` throws. A promise that rejects fails the task. */
  #start(subscription: SessionSubscription, run: () => unknown): void {
    this.#watch(run(), { during: 'startProcess', taskId: subscription.taskId }, () =>
      this.#end(subscription, 'failed'),
    )
  }

  /** Reports the failure of a promise that an integrator's function has returned. */
  #watch(result: unknown, context: ErrorContext, onFailure: () => void = () => {}): void {
    Promise.resolve(result).catch((error: unknown) => {
      this.#onError(error, context)
      onFailure()
    })
  }

  #receive(subscription: SessionSubscription, event: unknown): void {
    const update = readSessionEvent(event)
    if (update === undefined) return
    if (update.ends !== undefined) this.#end(subscription, update.ends)
    else if (!this.#addMessage(subscription, update.text)) this.#abort(subscription)
  }

  #timeOut(subscription: SessionSubscription): void {
    this.#addMessage(subscription, TIMEOUT_MESSAGE)
    this.#abort(subscription)
  }

  /** `false` when the conversation is full. The task then fails: an incomplete answer must not pass for a complete one. */
  #addMessage({ taskId }: SessionSubscription, text: string): boolean {
    try {
      this.#tasks.addMessage(taskId, { role: 'agent', parts: [{ text }] })
      return true
    } catch (error) {
      this.#onError(error, { during: 'assistant', taskId })
      return false
    }
  }

  #abort(subscription: SessionSubscription): void {
    this.#end(subscription, 'failed')
    this.#attempt('stopProcess', subscription, () => subscription.stop())
  }

  /** Ends the task, unless it has ended. */
  #end(subscription: SessionSubscription, state: 'completed' | 'failed'): void {
    if (subscription.isClosed) return
    this.#tasks.patchTask(subscription.taskId, { state })
    this.#close(subscription)
  }

  #close(subscription: SessionSubscription): void {
    const deadline = this.#subscriptions.get(subscription)
    if (deadline !== undefined) this.#timeline.remove(deadline)
    this.#subscriptions.delete(subscription)
    this.#attempt('unsubscribe', subscription, () => subscription.close())
  }

  /** Calls an integrator's function from an event or a timer, where errors can only be reported. */
  #attempt(during: string, { taskId }: SessionSubscription, run: () => unknown): void {
    try {
      this.#watch(run(), { during, taskId })
    } catch (error) {
      this.#onError(error, { during, taskId })
    }
  }
}

function toA2ATask(task: TaskSnapshot<A2ATaskState>): A2ATask {
  const { id, state, input, output, messages, createdAt, updatedAt } = task
  return {
    id,
    state,
    // `send` sets the input to a text and the output to a text or null.
    messages: [
      toMessage('user', input as string),
      ...messages.map((each) => toMessage(each.role, textOf(each))),
    ],
    sessionId: output as string | null,
    createdAt,
    updatedAt,
  }
}

function toMessage(role: A2AMessage['role'], text: string): A2AMessage {
  return { role, parts: [{ type: 'text', text }] }
}
