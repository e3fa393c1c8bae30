/**
 * Ends of tasks that waited for another agent while no process had their code: the code learns of them afterwards, and so
 * does the agent.
 *
 * @module
 */
import { terminal } from '../../core/decide.js'
import { endError, isTaskEnd } from '../../core/errors.js'
import type { SharedTasks, TaskDocument } from '../../core/managers.js'
import type { TaskSnapshot } from '../../core/task.js'
import { searchEnded } from '../../remote/ended-tasks.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { textOf } from '../../wire/text.js'
import type { Principal } from '../caller.js'
import { readHistory } from '../conversation.js'
import type { Settings } from '../options.js'
import { isAbort, TIMED_OUT } from '../run/failure-texts.js'
import { isStream, outputsOf } from '../run/output.js'
import { continuedWith } from '../run/message-queue.js'
import { referencesOf } from './references.js'
import type { RequestNotes } from './request-notes.js'
import { RunController } from '../run/run-controller.js'
import type { WorkedTasks } from '../journal/turn-port.js'
import { markOf, type DelegationMarks } from '../journal/delegation-marks.js'
import { readOpenTurn } from '../journal/earlier-attempts.js'
import type { OpenTurn } from '../journal/open-turn.js'

/** How long the code may take to learn of the end, in ms. */
const REPLAY_MS = 60_000
/** The pause after an attempt, in ms. Each is four times as long as the one before. */
const PAUSE_MS = 60_000
/** After so many attempts, half a day later, the agent is left alone. */
const MAX_ATTEMPTS = 6
/** As before, where the code may have killed the processes. */
const MAX_RISKY_ATTEMPTS = 2

interface EndedContext<P extends Principal> {
  readonly settings: Settings<P>
  readonly tasks: SharedTasks
  readonly notes: RequestNotes<P>
  readonly marks: DelegationMarks
}

/**
 * Searches for tasks that were canceled, timed out, or lost their processes too often, while no process followed their
 * agents. It calls their code once more, with a signal that has aborted: the code passes its journal until it stands where it
 * was, and there the agents' tasks are canceled. Of several processes, one does so at a time.
 */
export class EndedDelegations<P extends Principal> {
  readonly #context: EndedContext<P>
  readonly close: () => void

  constructor(context: EndedContext<P>) {
    this.#context = context
    const { settings, tasks, marks } = context
    this.close = searchEnded({
      ...{ tasks, clock: settings.clock },
      documents: () => marks.all(),
      settle: (mark, task) => this.#settle(mark, task),
    })
  }

  /** Resolves to whether the mark is done with. */
  async #settle({ key, value, version }: TaskDocument, task: TaskSnapshot): Promise<boolean> {
    const { tasks, settings } = this.#context
    const now = settings.clock.now()
    const { attempts, next } = toAttempts(value)
    if (now < next) return false
    const isRisky = task.failure?.reason === 'restarts'
    const isLeft = attempts < (isRisky ? MAX_RISKY_ATTEMPTS : MAX_ATTEMPTS)
    const open = isLeft && (isRisky || isUnwanted(task)) ? await readOpenTurn(tasks, task) : undefined
    if (open === undefined || !hasOpenDelegation(open)) return true
    const claim = { attempts: attempts + 1, next: now + PAUSE_MS * 4 ** attempts }
    if (await tasks.documents.putDocument({ ...markOf(key), value: claim }, version))
      await settleWithin(settings.clock, REPLAY_MS, [this.#replay(task, open)])
    return false
  }

  /** Never rejects. */
  async #replay(task: TaskSnapshot, open: OpenTurn): Promise<void> {
    const { settings, tasks, notes, marks } = this.#context
    const { id, createdAt, contextId, owner = null } = task
    try {
      const message = continuedWith(await notes.restore(task, open.message, open.note), open)
      const references = await referencesOf(tasks, message.request, { owner })
      const run = new RunController<P>(
        {
          settings,
          earlier: open,
          staysWaiting: true,
          tasks: endedTasks(task),
          message,
          marks,
          stored: () => undefined,
          referenceTasks: () => references,
          conversation: (_, options) =>
            readHistory(tasks, { contextId, ...message.owner }, { taskId: id, createdAt }, options),
          deadlineOf: () => undefined,
          onTask: () => undefined,
          queues: { has: () => false, shift: () => undefined, unshift: () => undefined },
          assigned: () => undefined,
          onContinued: () => undefined,
          onWaiting: () => undefined,
        },
        id,
      )
      // The run learns of the end before its code waits for the journal, which it passes all the same.
      const { aborted: hasEnded } = run.signal
      const outcome: unknown = hasEnded && (await settings.execute(run))
      const outputs = isStream(outcome) ? outputsOf(outcome) : undefined
      while (outputs !== undefined && !(await outputs.next()).done);
    } catch (error) {
      if (!isAbort(error) && !isTaskEnd(error)) settings.onError(error, { during: 'execute', taskId: id })
    }
  }
}

/** Whether the task has ended because its work is no longer wanted: it was canceled, took too long, or spent too much. */
function isUnwanted({ state, message, failure }: TaskSnapshot): boolean {
  if (state === 'canceled' || failure?.error?.code === 'BUDGET_EXCEEDED') return true
  const text = typeof message === 'object' ? textOf(message) : message
  return state === 'failed' && text === TIMED_OUT
}

/** Whether an agent may still work for the turn, or waits for an answer of it, as far as the journal says. */
function hasOpenDelegation({ journal }: OpenTurn): boolean {
  const sent = new Set<string>()
  const asking = new Set<unknown>()
  for (const { entry } of journal) {
    if (entry.kind === 'delegate') {
      sent.add(entry.name)
      // The message answers a question of this task. Handles and results are those of a `Follower`.
      asking.delete((entry.handle as { readonly taskId?: unknown }).taskId)
    } else if (entry.kind === 'delegated') {
      sent.delete(entry.name)
      const { type, task } = entry.result as {
        readonly type?: unknown
        readonly task?: { readonly id: unknown }
      }
      if (type === 'input-required') asking.add(task?.id)
    }
  }
  return sent.size + asking.size > 0
}

function toAttempts(value: unknown): { readonly attempts: number; readonly next: number } {
  const { attempts, next } = value as { readonly attempts?: unknown; readonly next?: unknown }
  return {
    attempts: typeof attempts === 'number' ? attempts : 0,
    next: typeof next === 'number' ? next : 0,
  }
}

/** The task as its code sees it: its signal has aborted, and nothing can change it. */
function endedTasks(task: TaskSnapshot): WorkedTasks {
  const refuse = (): never => {
    throw terminal(task, 'update')
  }
  const code = task.state === 'canceled' ? 'TASK_CANCELED' : 'TASK_TIMED_OUT'
  const reason = task.failure === undefined ? endError(code, task.id) : terminal(task, 'update')
  const signal = AbortSignal.abort(reason)
  return {
    createTask: refuse,
    addMessage: refuse,
    patchTask: refuse,
    appendArtifact: refuse,
    recordJournal: refuse,
    can: () => false,
    peekTask: (id) => (id === task.id ? task : null),
    signalOf: () => signal,
  }
}
