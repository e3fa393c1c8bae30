/**
 * What `run` takes, tells and gives.
 *
 * @module
 */
import type { A2AError } from '../../core/errors.js'
import type { Message } from '../../core/task.js'
import type { RemoteEvent, RemoteTask } from '../../wire/client/dialect.js'
import type { MessageInput, SendOptions } from '../message.js'

/** Where a run stands, as plain JSON: another process can `resume` it. */
export interface RunHandle {
  /** Of the message that began it. */
  readonly messageId: string
  readonly contextId?: string
  /** Absent as long as the agent has not answered. */
  readonly taskId?: string
  /** Whether nobody else knows that `contextId`: the only task in it is that of the message. */
  readonly isOwnContext?: boolean
  /** The agent's last event that was told, for `subscribe`. A run that is resumed tells the task as it is, and goes on. */
  readonly lastEventId?: string
}

export interface RunUpdate {
  readonly event: RemoteEvent
  /** The task with this event. The run goes on changing it: copy what you keep. */
  readonly task: RemoteTask
  readonly handle: RunHandle
}

export interface RunOptions extends Omit<SendOptions, 'returnImmediately' | 'historyLength' | 'timeoutMs'> {
  /**
   * Cancels the task. The run ends when the agent has confirmed that, and at the latest 10 s after the abort.
   */
  readonly signal?: AbortSignal | undefined
  /** How long the whole run may take, in ms. The task goes on when it is over. Default is for ever. */
  readonly timeoutMs?: number | undefined
  /**
   * Called with everything the agent tells. What it throws, or rejects with before the run is over, cancels the task, and is
   * thrown. It is not waited for.
   */
  readonly onUpdate?: ((update: RunUpdate) => void) | undefined
  /** Answers what the agent asks. Without it, or when it gives `undefined`, the run ends with `input-required`. */
  readonly onInputRequired?:
    ((task: RemoteTask) => MessageInput | undefined | Promise<MessageInput | undefined>) | undefined
  /** Called when the agent waits for credentials, which it gets elsewhere; the run waits. Without it the run ends. */
  readonly onAuthRequired?: ((task: RemoteTask) => void | Promise<void>) | undefined
  /** How long a stream may be silent before it is taken for broken, in ms. Default is 60,000. */
  readonly idleTimeoutMs?: number | undefined
  /** The first pause between two looks at a task without a stream, in ms; they grow to ten times that. Default 1,000. */
  readonly pollIntervalMs?: number | undefined
  /** Whether to send a message again that the agent has certainly no trace of. Default is `true`. */
  readonly resend?: boolean | undefined
}

interface Unfinished {
  readonly ok: false
  /** As it was last seen. */
  readonly task?: RemoteTask
  readonly text: string
  readonly error: A2AError
  readonly handle: RunHandle
}

/** How a run ended. `text` is what the agent says: its artifacts, or its last message. */
export type RunResult =
  | { readonly ok: true; readonly type: 'completed'; readonly task: RemoteTask; readonly text: string }
  /** A reply that needed no task. */
  | { readonly ok: true; readonly type: 'message'; readonly message: Message; readonly text: string }
  | {
      readonly ok: false
      readonly type: 'failed' | 'rejected' | 'canceled'
      readonly task: RemoteTask
      readonly text: string
    }
  /** The agent waits: for an answer with this `taskId`, or for credentials. */
  | {
      readonly ok: false
      readonly type: 'input-required' | 'auth-required'
      readonly task: RemoteTask
      readonly text: string
      readonly handle: RunHandle
    }
  /** `timeoutMs` is over; the task goes on. */
  | ({ readonly type: 'timed-out' } & Unfinished)
  /** The signal was aborted, and the agent did not confirm that the task is canceled. */
  | ({ readonly type: 'aborted' } & Unfinished)
  /** The agent refused, or could not be reached any more. With a `taskId` in its handle the run can be resumed. */
  | ({ readonly type: 'error' } & Unfinished)

/** An agent that runs tasks to their end, as `A2AClient` does. */
export interface TaskRunner {
  readonly card: { readonly name: string }
  run(message: MessageInput, options?: RunOptions): Promise<RunResult>
  resume(handle: RunHandle, options?: RunOptions): Promise<RunResult>
}
