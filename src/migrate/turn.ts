/**
 * One turn of an executor: its events become changes of the run's task.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { isInterrupted, isTerminal, type TaskState } from '../core/lifecycle.js'
import type { ArtifactInput } from '../core/params.js'
import type { TaskSnapshot } from '../core/task.js'
import type { Run } from '../server/run/run.js'
import type { Ignored, SdkVersion } from './agent-executor.js'
import type { BusOwner } from './event-bus.js'
import { readPublished, type Published, type Said, type Status } from './published.js'

type Ignore = (ignored: Omit<Ignored, 'taskId'>) => void

const QUESTIONS = { 'input-required': 'Input required', 'auth-required': 'Authentication required' } as const

export class Turn implements BusOwner {
  /** Resolves when the turn has ended. Rejects with what ended it: a refused event, a throw of the executor, an abort. */
  readonly ended: Promise<void>
  readonly #run: Run
  readonly #version: SdkVersion
  readonly #before: TaskSnapshot | undefined
  readonly #ignore: Ignore
  #resolve: () => void = () => {}
  #reject: (reason: Error) => void = () => {}
  /** Resolves the announced reply. */
  #reply: (message: Said | undefined) => void = () => {}
  #isOver = false
  #hasReplied = false
  #hasAsked = false
  #hasReturned = false
  #hasTask = false
  /** The terminal state that the executor has published. */
  #finalState: TaskState | undefined

  constructor(run: Run, version: SdkVersion, before: TaskSnapshot | undefined, ignore: Ignore) {
    this.#run = run
    this.#version = version
    this.#before = before
    this.#ignore = ignore
    this.ended = new Promise((resolve, reject: (reason: Error) => void) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    const reply = new Promise<Said | undefined>((resolve) => {
      this.#reply = resolve
    })
    // Only the executor creates the task: it may wait before it replies with a message.
    void run.reply(reply)
  }

  publish(event: unknown): void {
    if (this.#isAborted) return
    if (this.#isOver || this.#hasReplied) {
      this.#ignore({ reason: 'late', event })
      return
    }
    try {
      this.#apply(readPublished(event, this.#version), event)
    } catch (error) {
      this.#refuse(error, event)
    }
    if (this.#hasReturned && this.#isDone) this.#end()
  }

  finished(): void {
    if (this.#isOver || this.#isAborted) return
    if (this.#isDone) this.#end()
    else this.#end(unfinished())
  }

  onListenerError(error: unknown): void {
    this.#ignore({ reason: 'error', error })
  }

  /** `execute` has returned. Executors of 0.3 may go on until they call `finished()`. */
  returned(): void {
    this.#hasReturned = true
    if (this.#isAborted) this.fail(this.#run.signal.reason)
    else if (this.#version === '1.0') this.finished()
    else if (this.#isDone) this.#end()
  }

  /** The work is no longer wanted, or `error` has ended it. */
  fail(error: unknown): void {
    if (!this.#isOver) this.#end(error)
    else if (!this.#isAborted) this.#ignore({ reason: 'error', error })
  }

  /** Whether the executor has canceled the task itself. */
  get hasCanceled(): boolean {
    return this.#finalState === 'canceled'
  }

  /** Whether the task still waits for the answer to this turn. */
  get isWaiting(): boolean {
    if (!this.#hasAsked) return false
    const last = this.#run.messages.findLast(({ role }) => role === 'user')
    return last?.messageId === this.#run.message.messageId
  }

  /** @param reason - What an executor throws may be anything: the handler passes it on as it is. */
  #end(...reason: [] | [unknown]): void {
    this.#isOver = true
    this.#reply(undefined)
    if (reason.length === 0) this.#resolve()
    else this.#reject(reason[0] as Error)
  }

  /**
   * An error that the abort has caused is not the executor's fault: the turn ends once `cancelTask` has returned. Nor is
   * one that an earlier end of the task has caused.
   */
  #refuse(error: unknown, event: unknown): void {
    if (this.#isAborted) return
    if (this.#hasTask && A2AError.is(error, 'TASK_TERMINAL') && this.#isEnded(event)) return
    this.fail(error)
  }

  get #isAborted(): boolean {
    return this.#run.signal.aborted
  }

  /** Whether the executor has done what ends a turn. */
  get #isDone(): boolean {
    return this.#hasReplied || this.#hasAsked || (this.#hasTask && isTerminal(this.#run.task.state))
  }

  #apply(published: Published, event: unknown): void {
    if (published.type === 'message') {
      this.#hasReplied = true
      if (this.#hasTask) this.#run.complete(published.message)
      else this.#reply(published.message)
      return
    }
    this.#requireTask(published, event)
    switch (published.type) {
      case 'task':
        for (const artifact of published.artifacts) this.#setArtifact(artifact, event)
        this.#move(published.status, event, true)
        return
      case 'status':
        this.#move(published.status, event, false)
        if (published.isFinal && this.#version === '0.3') this.finished()
        return
      case 'artifact': {
        const { artifact, append, lastChunk } = published
        // Reading the task for each chunk would copy all chunks before it.
        this.#run.artifact(artifact, { append, lastChunk })
      }
    }
  }

  /** Creates the task at the first event. */
  #requireTask(published: Exclude<Published, { type: 'message' }>, event: unknown): void {
    const { taskId, contextId } = this.#run
    if (published.taskId !== taskId) throw wrongId('taskId', taskId, published.taskId)
    if (published.type === 'task' && published.contextId !== '' && published.contextId !== contextId) {
      throw wrongId('contextId', contextId, published.contextId)
    }
    if (!this.#hasTask) {
      this.#reply(undefined)
      // Reading the task creates it.
      this.#hasTask = this.#run.task.id === taskId
    }
    const { metadata } = published
    // Executors of the SDK's samples copy it from the message, which keeps it.
    const isKept = metadata === undefined || isSame(metadata, this.#run.message.metadata)
    if (!isKept && !isSame(metadata, this.#run.task.metadata)) this.#ignore({ reason: 'metadata', event })
    if (published.type !== 'task') return
    const known = new Set(this.#run.messages.map(({ messageId }) => messageId))
    known.add(published.status.message?.messageId ?? '')
    if (published.said.some((id) => !known.has(id))) this.#ignore({ reason: 'history', event })
  }

  #setArtifact(artifact: ArtifactInput, event: unknown): void {
    const known = this.#run.task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId)
    if (known !== undefined && isSame(known, artifact)) return
    if (!this.#isEnded(event)) this.#run.artifact(artifact, { append: false })
  }

  /** Whether the task has ended, so that nothing can change it. An end from outside is not the executor's fault. */
  #isEnded(event: unknown): boolean {
    if (!isTerminal(this.#run.task.state)) return false
    if (this.#finalState !== undefined) this.#ignore({ reason: 'late', event })
    return true
  }

  #move({ state, message }: Status, event: unknown, isTask: boolean): void {
    const run = this.#run
    if (isTask && this.#repeatsTask(state, message)) return
    if (state === 'working') {
      this.#start(message, event)
      return
    }
    const { task } = run
    if (state === task.state && isTerminal(state)) return
    if (this.#isEnded(event)) return
    if (state === 'submitted') {
      if (task.state !== 'submitted' && !isTask) throw backToSubmitted(task)
      if (task.state === 'submitted' && message !== undefined) run.update({ message })
      return
    }
    this.#hasAsked = isInterrupted(state)
    // Before the change: `canceled` aborts the signal.
    if (isTerminal(state)) this.#finalState = state
    this.#enter(state, message)
  }

  #start(message: Said | undefined, event: unknown): void {
    // As for a chunk: the task is read only where it must be.
    if (this.#finalState !== undefined && this.#isEnded(event)) return
    this.#hasAsked = false
    this.#run.start()
    if (message !== undefined) this.#run.update({ message })
  }

  /** Asks, or ends the task. */
  #enter(state: Exclude<TaskState, 'submitted' | 'working'>, message: Said | undefined): void {
    const run = this.#run
    switch (state) {
      case 'input-required':
      case 'auth-required':
        this.#ask(state, message)
        return
      case 'completed':
        run.complete(message)
        return
      case 'failed':
        run.fail(message)
        return
      case 'rejected':
        run.reject(message)
        return
      case 'canceled':
        run.cancel(message)
    }
  }

  #ask(
    state: 'input-required' | 'auth-required',
    message: Said = { parts: [{ text: QUESTIONS[state] }] },
  ): void {
    const { task, start, update, requireInput, requireAuth } = this.#run
    if (isInterrupted(task.state)) {
      if (task.state === state && messageIdOf(task) === message.messageId) return
      start()
    }
    // The answer begins another turn: it must not be read here.
    void (state === 'input-required' ? requireInput(message) : requireAuth(message))
    const now = this.#run.task
    const isAsked = now.state === state || now.history.at(-2)?.state === state
    // A message that waits already is the answer, so the task has not moved.
    if (!isAsked) update({ message })
  }

  /** Whether a published task has the status that the executor was given, or that the task has now. */
  #repeatsTask(state: TaskState, message: Said | undefined): boolean {
    return [this.#before, this.#run.task].some((task) => {
      if (task?.state !== state) return false
      return message === undefined || messageIdOf(task) === message.messageId
    })
  }
}

function messageIdOf({ message }: TaskSnapshot): string | undefined {
  return typeof message === 'object' ? message.messageId : undefined
}

function unfinished(): Error {
  return new Error('The AgentExecutor ended its turn without a final state, a question or a message')
}

function wrongId(field: string, wanted: string, got: string): TypeError {
  return new TypeError(`"event.${field}" must be that of the request context, ${wanted}, got "${got}"`)
}

function backToSubmitted({ id: taskId, state: from }: TaskSnapshot): A2AError {
  const to = 'submitted'
  const text = `Invalid transition from ${from} to ${to}: a task is submitted only once`
  return new A2AError('INVALID_TRANSITION', text, { taskId, from, to })
}

/** Whether two values are the same JSON, whatever the order of the keys. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  const keys = Object.keys(one)
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) => isSame(Reflect.get(one, key), Reflect.get(other, key)))
  )
}
