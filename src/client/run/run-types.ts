/**
 * Options, updates and results of runs.
 *
 * @module
 */
import type { A2AError } from '../../core/errors.js'
import type { Message } from '../../core/task.js'
import type { RunHandle } from '../../remote/runner.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'
import type { MessageInput, SendOptions } from '../message.js'
import type { AgentQuestion, QuestionAnswers } from './questions.js'

/** One event of a run. */
export interface RunUpdate {
  readonly event: RemoteEvent
  /** The task after this event. The run keeps changing this object: copy what you want to keep. */
  readonly task: RemoteTask
  /** The position of the run after this event. */
  readonly handle: RunHandle
}

/** Options of `run` and `resume`. */
export interface RunOptions extends Omit<SendOptions, 'returnImmediately' | 'historyLength' | 'timeoutMs'> {
  /**
   * Cancels the task. The run ends when the agent confirms, at the latest 10 s after the abort. With an `A2AError` of code
   * `LEASE_LOST` as its reason, the run ends and leaves the task alone, since another process follows it.
   */
  readonly signal?: AbortSignal | undefined
  /** Time limit of the whole run, in ms. The task continues after it. Default is none. */
  readonly timeoutMs?: number | undefined
  /**
   * Called with the handle of the run before its first message is sent, which waits for a returned promise. Called again
   * if the agent refuses the context of the handle. If it throws or rejects, nothing is sent, and the run rejects with
   * that error. Not called by `resume`.
   */
  readonly onStart?: ((handle: RunHandle) => void | Promise<void>) | undefined
  /**
   * The handle that `onStart` received from a run that may or may not have sent the same message, as in a process that
   * has died. The run first looks for the message in the agent's tasks. If the agent has it, the run follows its task. If
   * the agent certainly does not have it, the run sends it. If the run cannot find out, it follows the task of the handle, or
   * ends with the result `error` if the handle has none. Give the message the `messageId` that it had.
   */
  readonly repeats?: RunHandle | undefined
  /**
   * Called with each event, in the order received, and not awaited. If it throws, or returns a promise that rejects
   * before the run is over, the task is canceled and the run rejects with that error.
   */
  readonly onUpdate?: ((update: RunUpdate) => void) | undefined
  /**
   * Whether the task of the result has the status messages of its stream that the agent does not return with it, up to 4 MiB of
   * them. With `false` the run takes no memory for them. Default is `true`.
   */
  readonly keepUpdates?: boolean | undefined
  /**
   * Returns the answer to a question of the agent, which is sent to the same task. Without it, or if it returns
   * `undefined`, the run ends with the result `input-required`. An error cancels the task and rejects the run.
   *
   * Not called, as `onQuestions`, for a question that only other users may answer: the run goes on. `awaitedOthersOf(task)` has
   * their ids.
   */
  readonly onInputRequired?:
    ((task: RemoteTask) => MessageInput | undefined | Promise<MessageInput | undefined>) | undefined
  /**
   * Returns values for questions that have a schema, by their ids, which are sent to the same task. Some values suffice: the
   * agent asks for the rest again. Called again, with the `problem` of each question, if an answer does not fit, at most ten
   * times in a row. Without it, or if it returns `undefined` or no value, `onInputRequired` is called.
   */
  readonly onQuestions?:
    | ((
        questions: readonly AgentQuestion[],
        task: RemoteTask,
      ) => QuestionAnswers | undefined | Promise<QuestionAnswers | undefined>)
    | undefined
  /**
   * Called when the agent waits for credentials, which it obtains outside A2A. The run continues to follow the task
   * when the callback has returned. Without it, the run ends with the result `auth-required`.
   *
   * `questions` has what the agent asks to authorize, as agents of this library do by `run.authorize`: show `message`, and let the
   * user open `url`, which is an http or https address of the agent's choice. To refuse, return `{ [id]: 'decline' }`, as
   * `onQuestions` returns values; return nothing otherwise. Empty for an agent that only sends a message.
   */
  readonly onAuthRequired?:
    | ((task: RemoteTask, questions: readonly AgentQuestion[]) => void | Promise<void>)
    | ((
        task: RemoteTask,
        questions: readonly AgentQuestion[],
      ) => QuestionAnswers | undefined | Promise<QuestionAnswers | undefined>)
    | undefined
  /** Time without data, in ms, after which a stream counts as broken. Default is 60,000. */
  readonly idleTimeoutMs?: number | undefined
  /**
   * The first pause between two polls of a task that has no stream, in ms. Pauses grow to ten times that while the task
   * does not change. Default is 1,000.
   */
  readonly pollIntervalMs?: number | undefined
  /** Whether a message is sent again when the agent certainly has no trace of it. Default is `true`. */
  readonly resend?: boolean | undefined
}

/** Options of `sendTask`, which knows itself what an earlier process has sent. */
export type DelegationOptions = Omit<RunOptions, 'repeats'>

interface UnfinishedRun {
  readonly ok: false
  /** The task as last seen. Absent if the agent has not responded. */
  readonly task?: RemoteTask
  readonly text: string
  readonly error: A2AError
  readonly handle: RunHandle
}

/**
 * The outcome of a run. Check `ok`, then `type`. The contents of `text` depend on the type:
 *
 * - `completed`: the text of the artifacts. If they have none, the status message, or else the agent's last message.
 * - `message`: the text of the message.
 * - Other states of the task: the status message, which is the question or the reason. If there is none, the text of the
 *   artifacts or of the agent's last message.
 * - If all these are missing: what the agent has said in the status messages of its stream in this turn.
 * - `timed-out`, `aborted` and `error`: the text of the error.
 */
export type RunResult =
  | { readonly ok: true; readonly type: 'completed'; readonly task: RemoteTask; readonly text: string }
  /** The agent replied with a message and created no task. */
  | {
      readonly ok: true
      readonly type: 'message'
      readonly message: Message
      readonly text: string
      readonly task?: undefined
    }
  | {
      readonly ok: false
      readonly type: 'failed' | 'rejected' | 'canceled'
      readonly task: RemoteTask
      readonly text: string
    }
  /** The agent waits for an answer, to be sent with this `taskId`, or for credentials. */
  | {
      readonly ok: false
      readonly type: 'input-required' | 'auth-required'
      readonly task: RemoteTask
      readonly text: string
      readonly handle: RunHandle
    }
  /** `timeoutMs` has passed. The task continues. */
  | ({ readonly type: 'timed-out' } & UnfinishedRun)
  /** The signal was aborted, and the agent did not confirm the cancellation. */
  | ({ readonly type: 'aborted' } & UnfinishedRun)
  /** The agent refused, or could not be reached any more. With a `taskId` in its handle the run can be resumed. */
  | ({ readonly type: 'error' } & UnfinishedRun)

/** An agent that runs tasks to their end, as `A2AClient` does. */
export interface TaskRunner {
  readonly card: { readonly name: string }
  run(message: MessageInput, options?: RunOptions): Promise<RunResult>
  resume(handle: RunHandle, options?: RunOptions): Promise<RunResult>
}
