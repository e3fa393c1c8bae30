/**
 * Inbound tasks, each worked on by a session of its own.
 *
 * @module
 */
import { hasLoneSurrogate } from '../../core/json.js'
import { describe } from '../../runtime/describe.js'
import type { Clock } from '../../runtime/clock.js'
import { defineLifecycle } from '../../core/lifecycle.js'
import { TaskManager } from '../../core/task-manager.js'
import type { TaskSnapshot } from '../../core/task.js'
import { Timeline, type Deadline } from '../../core/timeline.js'
import { textOf } from '../../wire/text.js'
import { NotFoundError } from './errors.js'
import { toNews } from './events.js'
import { toInboundParams } from './params.js'
import { SessionTie } from './session.js'
import type { A2AMessage, A2ATask, A2ATaskDeps, A2ATaskState, InboundAgent, InboundSession } from './types.js'
import type { ErrorContext } from '../options.js'

/** Nothing leads back. A task for which no session can be created fails before anybody works on it. */
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
  readonly onError: (error: unknown, context: ErrorContext) => void
}

/** To the manager the message is the task's input, and the session's id its output: both are set once. */
export class InboundStore {
  readonly clock: Clock
  readonly #tasks: TaskManager<A2ATaskState>
  readonly #timeline: Timeline
  readonly #onError: InboundStoreOptions['onError']
  /** Of the tasks that are worked on, with their time limits. */
  readonly #ties = new Map<SessionTie, Deadline>()

  constructor({ clock, maxTasks, onError }: InboundStoreOptions) {
    this.clock = clock
    this.#onError = onError
    this.#timeline = new Timeline(clock)
    this.#tasks = new TaskManager({
      lifecycle: FORWARD,
      clock,
      maxTasks,
      whenFull: 'evict-terminal',
      expiryMs: Infinity,
      // Nobody reads it here.
      eventLogSize: 1,
    })
  }

  send<Db, Session extends InboundSession>(deps: A2ATaskDeps<Db, Session>, body: unknown): A2ATask {
    const { message, skill, timeoutMs } = toInboundParams(body)
    const agent = this.#agentsOf(deps).find(({ defaultProjectId }) => defaultProjectId)
    if (!agent?.defaultProjectId) throw new NotFoundError('Agent with default project')
    let task = this.#tasks.createTask({ id: deps.generateId?.(), skill, input: message })
    const tie = new SessionTie(task.id, deps.processManager)
    try {
      this.#ties.set(
        tie,
        this.#timeline.add(timeoutMs, () => this.#timeOut(tie)),
      )
      const session = deps.createSession(deps.db, {
        projectId: agent.defaultProjectId,
        agentId: agent.id,
        name: `A2A Task: ${beginningOf(message)}`,
        initialPrompt: message,
        source: 'agent',
      })
      const sessionId = this.#idOf(session, tie)
      // Whatever is called may clear the store: then nobody is to work.
      if (!tie.isCut) {
        task = this.#tasks.updateTask(task.id, { state: 'working', output: sessionId })
        this.#subscribe(tie, sessionId)
      }
      if (!tie.isCut) {
        this.#start(tie, () => deps.processManager.startProcess(session, message, { schedulerMode: true }))
      }
    } catch (error) {
      this.#end(tie, 'failed')
      throw error
    }
    // As it is by now: a session may end within the calls.
    return this.get(task.id) ?? toA2ATask(task)
  }

  get(taskId: string): A2ATask | null {
    const task = this.#tasks.peekTask(taskId)
    return task === null ? null : toA2ATask(task)
  }

  /** Forgets all tasks. Their sessions go on, unheard. */
  clear(): void {
    for (const tie of [...this.#ties.keys()]) this.#cut(tie)
    this.#tasks.destroy()
  }

  /** Those of a program in JavaScript may be anything. */
  #agentsOf<Db>(deps: Pick<A2ATaskDeps<Db>, 'listAgents' | 'db'>): readonly InboundAgent[] {
    const agents: unknown = deps.listAgents(deps.db)
    // Of the agents in it no more is asked than what is said of them.
    if (Array.isArray(agents)) return agents as readonly InboundAgent[]
    this.#watch(agents, { during: 'listAgents' })
    throw new TypeError(`"deps.listAgents" must return an array, got ${describe(agents)}`)
  }

  /** @throws {TypeError} where it is no session: no promise of one either. */
  #idOf(session: unknown, { taskId }: SessionTie): string {
    const id = typeof session === 'object' && session !== null && 'id' in session ? session.id : undefined
    if (typeof id === 'string' && id !== '') {
      if (!hasLoneSurrogate(id)) return id
      throw new TypeError('"deps.createSession" must return a session whose id has no lone surrogate')
    }
    this.#watch(session, { during: 'createSession', taskId })
    throw new TypeError(`"deps.createSession" must return a session with an id, got ${describe(session)}`)
  }

  /** A session that nobody hears is of no use, if it should have begun. */
  #subscribe(tie: SessionTie, sessionId: string): void {
    const result = tie.subscribe(sessionId, (event) => this.#hear(tie, event))
    this.#watch(result, { during: 'subscribe', taskId: tie.taskId }, () => {
      if (!tie.isCut) this.#abort(tie)
    })
    if (tie.isCut) this.#cut(tie)
  }

  /** What is thrown is the caller's affair. */
  #start(tie: SessionTie, run: () => unknown): void {
    this.#watch(run(), { during: 'startProcess', taskId: tie.taskId }, () => this.#end(tie, 'failed'))
  }

  /** Of a promise that is rejected nobody else hears. */
  #watch(result: unknown, context: ErrorContext, onFailure: () => void = () => {}): void {
    Promise.resolve(result).catch((error: unknown) => {
      this.#onError(error, context)
      onFailure()
    })
  }

  #hear(tie: SessionTie, event: unknown): void {
    const news = toNews(event)
    if (news === undefined) return
    if (news.ends !== undefined) this.#end(tie, news.ends)
    else if (!this.#say(tie, news.text)) this.#abort(tie)
  }

  #timeOut(tie: SessionTie): void {
    this.#say(tie, TIMEOUT_MESSAGE)
    this.#abort(tie)
  }

  /** Whether there was room for it. An answer that lacks some of its texts must not pass for a whole one. */
  #say({ taskId }: SessionTie, text: string): boolean {
    try {
      this.#tasks.addMessage(taskId, { role: 'agent', parts: [{ text }] })
      return true
    } catch (error) {
      this.#onError(error, { during: 'assistant', taskId })
      return false
    }
  }

  #abort(tie: SessionTie): void {
    this.#end(tie, 'failed')
    this.#attempt('stopProcess', tie, () => tie.stop())
  }

  /** The first end is the end. */
  #end(tie: SessionTie, state: 'completed' | 'failed'): void {
    if (tie.isCut) return
    this.#tasks.patchTask(tie.taskId, { state })
    this.#cut(tie)
  }

  #cut(tie: SessionTie): void {
    const deadline = this.#ties.get(tie)
    if (deadline !== undefined) this.#timeline.remove(deadline)
    this.#ties.delete(tie)
    this.#attempt('unsubscribe', tie, () => tie.cut())
  }

  /** Neither whoever emits an event nor a timer can do anything about an error. */
  #attempt(during: string, { taskId }: SessionTie, run: () => unknown): void {
    try {
      this.#watch(run(), { during, taskId })
    } catch (error) {
      this.#onError(error, { during, taskId })
    }
  }
}

/** No character that UTF-16 has in two halves is cut in half. */
function beginningOf(message: string): string {
  return message.slice(0, NAME_LENGTH).replace(/[\uD800-\uDBFF]$/, '')
}

function toA2ATask(task: TaskSnapshot<A2ATaskState>): A2ATask {
  const { id, state, input, output, messages, createdAt, updatedAt } = task
  return {
    id,
    state,
    // Its input is a text, its output a text or null: see the class.
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
