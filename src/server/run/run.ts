/**
 * The interface of a run: what an agent's code works with while it handles a message.
 *
 * @module
 */
import type { ArtifactInput, MessageInput, PartInput } from '../../core/params.js'
import type { DeepReadonly, Part, TaskSnapshot } from '../../core/task.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { LineageSource } from '../../core/lineage/mark.js'
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import type { Principal } from '../caller.js'
import type { OutputOf, StandardSchema } from '../standard-schema.js'
import type {
  AnswersTo,
  ApproveOptions,
  AskedQuestion,
  AskOptions,
  AuthorizeOptions,
  InputOptions,
} from './ask-types.js'
import type {
  DelegatedMessage,
  DelegateOptions,
  DelegationAgent,
  DelegationResult,
  SignalOptions,
  SleepOptions,
  SpentAmounts,
  StepMethod,
  TransactionMethod,
} from '../journal/call-types.js'

/** A message of the conversation, read-only. */
export interface ReadonlyMessage {
  readonly messageId: string
  readonly role: 'user' | 'agent'
  readonly parts: readonly DeepReadonly<Part>[]
  readonly contextId?: string
  readonly taskId?: string
  readonly metadata?: { readonly [key: string]: ReadonlyJson }
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}

/** A message of the agent: a text, or a message without the fields that the run sets (`role`, `taskId`, `contextId`). */
export type Say = string | Omit<MessageInput, 'role' | 'taskId' | 'contextId'>

/** With what a turn continues: a text, parts, or a message without what the run sets. */
export type ContinuedInput =
  string | readonly PartInput[] | Pick<MessageInput, 'parts' | 'metadata' | 'extensions' | 'referenceTaskIds'>

/** Progress of the work. Requires `message` or `current`. */
export interface Progress {
  /** The status message. Default is the numbers: `3 of 10`. */
  readonly message?: Say | undefined
  /** The amount done, in the unit of `total`. Clients read it in the status message's `metadata.progress`. */
  readonly current?: number | undefined
  /** The amount in all. */
  readonly total?: number | undefined
}

/** A message of an earlier task, or one of its results. */
export interface ConversationEntry {
  /** `'artifact'` for a result: an artifact of a task that has ended. */
  readonly type: 'message' | 'artifact'
  /** The author. Results are of the agent. */
  readonly role: 'user' | 'agent'
  /** The texts of {@link parts}, joined. Empty if no part has a text. */
  readonly text: string
  readonly parts: readonly DeepReadonly<Part>[]
  /** Of the message or the artifact, if it has any. */
  readonly metadata?: { readonly [key: string]: ReadonlyJson }
  readonly taskId: string
  /** The present state of the task. */
  readonly state: TaskState
}

/** Options of `run.conversation`. */
export interface ConversationOptions {
  /** The most entries of the page, 1 to 1000. Default is `100`. */
  readonly limit?: number | undefined
  /** The `before` of the page that was read last. Default is the page of the latest entries. */
  readonly before?: string | undefined
}

/** A page of the conversation. */
export interface ConversationPage {
  /** Oldest first. */
  readonly entries: readonly ConversationEntry[]
  /** Where the page of the entries before these begins. Absent when there are no earlier entries. */
  readonly before?: string
}

/** Options of `run.artifact`. */
export interface ArtifactOptions {
  /** Appends to the artifact with this `artifactId`, if there is one, instead of replacing it. Default is `true`. */
  readonly append?: boolean | undefined
  /** Marks the last chunk of the artifact. Default is `false`. */
  readonly lastChunk?: boolean | undefined
}

/**
 * One turn of work: it begins with a message of the user, and ends when the executor returns.
 *
 * The task is created by the first method that needs it, or as soon as the executor waits for something, unless
 * {@link reply} was called before. Over a `DurableTaskManager` it is stored before the executor is called, and {@link reply}
 * removes it again. When the executor returns, the task is completed, unless it is terminal, waits for the
 * user, or has messages that wait for another run.
 *
 * Each method applies its change before it returns, and open streams receive it; over a `DurableTaskManager` changes are
 * stored afterwards, in their order. When the task is canceled, times out or expires, `signal` aborts, and every method
 * that changes the task throws the signal's reason. After the executor has returned, a method that records something rejects
 * with `TASK_TERMINAL` or `LEASE_LOST`, and does no work. The methods do not use `this`: `const { artifact } = run` works.
 */
export interface Run<P extends Principal = Principal> {
  /** The message that began this run. */
  readonly message: ReadonlyMessage
  /** The texts of {@link message}, joined. */
  readonly text: string
  /** The id of the task. Reading it does not create the task. */
  readonly taskId: string
  /** The id of the conversation that the task belongs to. Reading it does not create the task. */
  readonly contextId: string
  /** The current task, frozen. Creates the task if there is none. */
  readonly task: TaskSnapshot
  /**
   * The conversation so far, oldest first, with {@link message} and all messages that arrived since. Until a turn that continues
   * has passed its journal, it has the messages that the code had read by then. Messages that code reads while a step, question
   * or wait is under way do not count as read: read them before it, or return what you need from the step.
   */
  readonly messages: readonly ReadonlyMessage[]
  /** The tasks that the message refers to, as far as they exist and belong to the same owner. */
  readonly referenceTasks: readonly TaskSnapshot[]
  /** The principal who sent the message. Absent where the handler has no `authenticate`. */
  readonly principal: P | undefined
  /** The tenant that the request names. */
  readonly tenant: string | undefined
  /** The metadata of the request; the message has its own. Empty if there is none. */
  readonly metadata: JsonObject
  /** The extensions that the client declares and the agent card lists. */
  readonly extensions: readonly string[]
  /** The media types that the client accepts. Empty for any. */
  readonly acceptedOutputModes: readonly string[]
  /**
   * Aborts when the work is no longer wanted: the task is canceled, times out or expires, or the agent shuts down. After
   * the run, it follows the task until the task's next run ends.
   */
  readonly signal: AbortSignal

  /**
   * Reads the earlier tasks of this context that belong to the same owner: their messages, and the artifacts of the tasks that
   * have ended. It leaves out this task, whose conversation is {@link messages}, and tasks that were created after it. Removed
   * tasks are missing.
   *
   * Entries are oldest first. The entries of a task are together, and tasks are in the order of their latest change. A
   * page has at most `limit` entries, the latest ones or those before `before`, and about 1 MiB of parts: a larger entry is a
   * page of its own.
   *
   * Without `authenticate`, the context's id is the only secret: a client that knows it sees the tasks of the context, as in
   * `ListTasks`.
   *
   * @throws {TypeError | RangeError} As a rejection, naming the invalid option.
   * @throws {A2AError} As a rejection: `INVALID_PARAMS` for a `before` that is of no page; `STORE_FAILED`.
   */
  readonly conversation: (options?: ConversationOptions) => Promise<ConversationPage>

  /**
   * Moves the task to `working`. Idempotent. {@link update} and {@link artifact} do it by themselves, and so does a run that
   * waits for a step or other work. An open question is dropped: its promise rejects with `WAIT_ABORTED`.
   */
  readonly start: () => void
  /**
   * Reports progress as the task's status message. It does not join the conversation. While a question is open, the question
   * stays the status message: the latest report follows after the answer.
   */
  readonly update: (report: string | Progress) => void
  /**
   * Changes the metadata of the task, which clients receive with it and in its streams: each key of `changes` replaces the value
   * that the task has for it, `null` removes the key, and other keys stay. {@link metadata} are those of the request.
   *
   * A replay does not make the change again. What the work of a step sets stays when its attempt fails.
   *
   * @param changes - A JSON object.
   * @throws {A2AError} `INVALID_PARAMS` for what is not JSON, and for a key that begins with
   *   `https://a2a-tasks.dev/extensions/`, which the library writes; `LIMIT_EXCEEDED` when the metadata and the input of the task
   *   exceed the manager's `maxInputSize`; the signal's reason.
   */
  readonly setMetadata: (changes: object) => void
  /**
   * Adds an artifact, or appends a chunk to the artifact with the same `artifactId`: pass `append: false` to replace it
   * instead. A text becomes an artifact with one text part.
   *
   * What the work of a step writes belongs to the step: its next attempt replaces it, and leaves what other steps have written.
   *
   * @returns The artifact's id, generated where it has none: the same one in each attempt. Pass it to the next call to append.
   * @throws {TypeError} when the artifact has no parts.
   * @throws {A2AError} `LIMIT_EXCEEDED`; the signal's reason.
   */
  readonly artifact: (artifact: string | ArtifactInput, options?: ArtifactOptions) => string
  /**
   * Asks the user: the task is `input-required` until the user answers, then `working` again. A run that waits does not
   * count towards `limits.maxRuns`, and the time that it waits does not count towards `limits.runTimeoutMs`.
   *
   * To end the turn with the question, return without awaiting the promise: the answer then begins another run. To give up
   * waiting, as after `Promise.race`, call {@link start}.
   *
   * With a `schema`, clients get its JSON Schema and the id of the question, by the extension `QUESTIONS_EXTENSION`. They answer
   * by id, and get `INVALID_PARAMS` with the path of what does not fit: the task then waits on. A client without the extension
   * reads the prompt and answers in words, which are taken where it is certain what they mean: a text, a number, yes or no, one
   * of several options, JSON. Otherwise the user is asked again. The call resolves to what the schema returns, which is JSON; the
   * journal keeps it.
   *
   * @returns The answer. Rejects with the signal's reason when the task ends without one, and with `WAIT_ABORTED` when the
   *   run continues without it. With a schema also with `INVALID_PARAMS` after `attempts` answers in a row that do not fit, and
   *   with `WAIT_TIMED_OUT` after `expiresInMs`.
   * @throws {TypeError} when the run waits for an answer already, or has ended; for a schema without a JSON Schema; with the
   *   `code` `CALLED_IN_STEP` in the work of a step.
   */
  readonly requireInput: {
    (prompt: Say): Promise<ReadonlyMessage>
    <S extends StandardSchema>(prompt: Say, options: InputOptions<S>): Promise<OutputOf<S>>
  }
  /**
   * Asks several questions at once. They are answered one by one or together; an answer in words has a line for each, such as
   * `city: Rome`. Otherwise as {@link requireInput} with a schema.
   *
   * @returns All answers, by the names of the questions.
   */
  readonly ask: <const Q extends Readonly<Record<string, AskedQuestion>>>(
    questions: Q,
    options?: AskOptions,
  ) => Promise<AnswersTo<Q>>
  /**
   * Asks for a verdict. Otherwise as {@link requireInput} with a schema.
   *
   * @returns One of `options`, which are `'approve'` and `'reject'` by default; `'expired'` after `expiresInMs`.
   */
  readonly approve: {
    <const O extends readonly string[] = readonly ['approve', 'reject']>(
      name: string,
      options: ApproveOptions<O> & { readonly expiresInMs?: undefined },
    ): Promise<O[number]>
    <const O extends readonly string[] = readonly ['approve', 'reject']>(
      name: string,
      options: ApproveOptions<O>,
    ): Promise<O[number] | 'expired'>
  }
  /**
   * Sends the user to `url` to authorize something, such as to log in at another site: the task is `auth-required` until your own
   * code, such as the route of an OAuth callback, sends a signal of this name: `tasks.signal(taskId, name, value)`. Nothing that a
   * client says counts as authorization. A client answers `decline` by the id of the question, or in words; with any other words
   * it is asked again. A signal that has come before the call is taken, and nothing is asked.
   *
   * The journal keeps the value, so send what finds the credential rather than the credential. `T` is not checked.
   *
   * @returns The value of the signal. Rejects with `PERMISSION_DENIED` when the user declines; otherwise as {@link requireInput}
   *   with a schema.
   * @throws {TypeError} naming the option, as for a `url` that is none; otherwise as {@link requireInput}.
   */
  readonly authorize: <T = unknown>(name: string, options: AuthorizeOptions) => Promise<T>
  /**
   * Asks for credentials that the user gives out of band: the task is `auth-required` until a message arrives or
   * {@link start} is called. Otherwise as {@link requireInput}. The message does not prove that anything was authorized
   * (A2A 1.0 §7.6.4): {@link authorize} waits for your own code instead.
   */
  readonly requireAuth: (prompt: Say) => Promise<ReadonlyMessage>
  /**
   * Does `work`, and resolves to its output when that is stored. Over a store, the output becomes part of the task's journal:
   * when the turn continues in another process, `step` returns it and does not call `work` again. So does the error of a step
   * that has failed.
   *
   * When a process dies after the work and before its output is stored, the work is done again: pass `key` to services as the
   * idempotency key. What `work` shows (artifacts, updates) before that is replaced. Names repeat: the second `price` is
   * another step than the first. Within `work`, a step, question, wait or delegation is refused by a `TypeError` with the `code`
   * `CALLED_IN_STEP`: when the turn continues, nothing would ask for its entry.
   *
   * @returns A copy of the output: `StepOutput` says what it can be.
   * @throws What `work` throws after its last attempt. From the journal, an error with the beginnings of its `name` (100
   *   characters) and its `message` (2,000), and with its `code`, if that is a text or a number. An `A2AError` is one again,
   *   with its `data`, if these have at most 8 KiB.
   *   {@link A2AError} `JOURNAL_MISMATCH`; `LIMIT_EXCEEDED` for an output over `limits.maxStepBytes`, a step
   *   beyond `limits.maxSteps` or a journal beyond `limits.maxJournalBytes`; `INVALID_PARAMS`, with its path, for what
   *   cannot be stored; `REQUEST_TIMED_OUT` after `timeoutMs`; the signal's reason.
   */
  readonly step: StepMethod
  /**
   * Does `work` with the client of the store, and stores its output, in one transaction: both are stored, or neither. So what
   * the work writes to the database happens exactly once, also when the process dies. Otherwise as {@link step}, and with its
   * names and keys.
   *
   * Needs a store over SQLite or PostgreSQL. `client` is the driver's: annotate it with its type, which is not checked. It is
   * the database that you have opened, for SQLite; a `PoolClient` of `pg`; a `ReservedSql` of `postgres`; a `Transaction` of
   * PGlite. Use it for all statements of the work, leave it when the work returns, and do not end the transaction.
   *
   * - Over SQLite the work must not return a promise: its driver is synchronous.
   * - Over PostgreSQL it has to end within `timeoutMs`, 5 s by default, and occupies a connection until then. Statements that
   *   hang are bounded by `statement_timeout` of the database. Other changes of the task wait: do not await other methods of the
   *   run in it, nor other methods of the task manager over PGlite, which has one connection.
   * - The work is called again when the database rolls it back because of another transaction. Effects outside of the database
   *   are not undone, except for what the work shows, such as an {@link artifact}.
   *
   * @returns As {@link step}.
   * @throws As {@link step}; `TypeError`, as a rejection, over a store without transactions, and for work over SQLite that
   *   returns a promise or ends the transaction.
   */
  readonly transaction: TransactionMethod
  /**
   * Sends a message to another agent, such as an `A2AClient`, and follows the agent's task until it ends. Over a store, the
   * result becomes part of the task's journal: when the turn continues in another process, this process follows the same task
   * of the agent, or returns the result.
   *
   * The `messageId` consists of the task and the name, so agents that recognize repeated messages begin one task only. With
   * other agents, the run looks for the message in their tasks before it sends it again. A run that waits for an agent counts
   * neither towards `limits.maxRuns` nor towards `limits.runTimeoutMs`, and leaves the memory after `limits.waitingRunMs`. When
   * this task is canceled or times out, the agent's task is canceled too. Questions of the agent become questions to the user,
   * unless `onInputRequired` answers them.
   *
   * @returns The result. Check `ok`: an agent that fails, or cannot be reached, does not reject. Rejects with `LIMIT_EXCEEDED`
   *   beyond `limits.maxDelegationDepth`, and for a result over `limits.maxStepBytes`; `UNSUPPORTED_OPERATION` for an agent
   *   that has led to this task; `JOURNAL_MISMATCH`; the signal's reason.
   */
  readonly delegate: (
    name: string,
    agent: DelegationAgent,
    message: DelegatedMessage,
    options?: DelegateOptions,
  ) => Promise<DelegationResult>
  /**
   * Resolves after `ms` milliseconds, or at the time `until`: a `Date`, or milliseconds since 1970. The task stays `working`.
   *
   * Over a store the due time becomes part of the task's journal. A run that only sleeps, for longer than
   * `limits.waitingRunMs`, leaves the memory of its process at once, and holds no lease and no timer: after the due time, at
   * most the manager's `sweepIntervalMs` later, any process continues the turn. If the code does other work during the sleep,
   * do it in steps. A run that sleeps does not count towards `limits.maxRuns` and `limits.runTimeoutMs`. Names may repeat, as
   * those of steps.
   *
   * @returns Rejects with the signal's reason when the task ends before, and with `JOURNAL_MISMATCH`.
   * @throws {TypeError | RangeError} naming the invalid option.
   */
  readonly sleep: (name: string, options: SleepOptions) => Promise<void>
  /**
   * Waits for a signal: a value that other code sends to this task, in any process, by `tasks.signal(taskId, name, value)`.
   * The task stays `working`. Signals of one name are received in their order, also those that came before. Each call receives
   * one.
   *
   * Over a store, a run that only waits leaves the memory after `limits.waitingRunMs`, as one that {@link sleep}s. The signal
   * continues its turn.
   *
   * @returns The value; with a `schema`, what the schema returns. The schema is called again when the turn continues. Rejects
   *   with `INVALID_PARAMS` for a value that the schema refuses, which is received anyway; with `JOURNAL_MISMATCH`; with
   *   the signal's reason when the task ends before.
   * @throws {TypeError} naming the invalid option.
   */
  readonly waitFor: <T = ReadonlyJson>(name: string, options?: SignalOptions<T>) => Promise<T>
  /**
   * The lineage of a message that this run sends without {@link delegate}. The clients and the gateway of this library take the
   * run as their option `lineage` instead.
   *
   * @param agent - The URL of the agent, or its name.
   * @throws {A2AError} `LIMIT_EXCEEDED` beyond `limits.maxDelegationDepth`; `UNSUPPORTED_OPERATION` for an agent that has led
   *   to this task, unless `mayRepeat`.
   */
  readonly lineageTo: LineageSource['lineageTo']
  /**
   * The time until which the run may work, in ms since 1970. It is the earliest of the deadline in the lineage of the message,
   * the time limit of the request, and the manager's `taskTimeoutMs`. Then the task fails with `Task timed out`, and
   * {@link signal} aborts. Every lineage that the run sends contains it. `undefined` without a limit.
   */
  readonly deadline: number | undefined
  /**
   * The number of this attempt of the turn: `1`, and one more each time that `execute` has thrown and is called again. See the
   * option `retry` of `createRequestHandler`.
   */
  readonly attempt: number
  /** The time in ms since 1970. When the turn continues in another process, the same call returns the same time. In the work of a step this, {@link random} and {@link uuid} record nothing. */
  readonly now: () => number
  /** A random number from 0 to 1, the same when the turn continues in another process. Not for secrets. */
  readonly random: () => number
  /** A new UUID v4, the same when the turn continues in another process. */
  readonly uuid: () => string
  /**
   * Whether this turn uses the new code of a function that you have changed: `true`, unless an earlier attempt of the turn has
   * passed this point with the old function. Give each change its own name.
   */
  readonly changed: (name: string) => boolean
  /**
   * Counts what the code has spent, such as the tokens and the cost of a call to a model. The amounts are added up on the task:
   * clients read them by `spendingOf(task)`.
   *
   * What is spent stays spent: a replay does not count it again, and each attempt of a step counts what it spends itself, also
   * one that fails or whose process dies. Call it once for each call to a model, within the step that makes the call.
   *
   * @throws {TypeError | RangeError} naming an amount that is no number of 0 or more, or the name of a unit or model that is none.
   * @throws {A2AError} `LIMIT_EXCEEDED` beyond 16 units or 32 models, and for a journal over `limits.maxJournalBytes`;
   *   the signal's reason.
   */
  readonly spend: (spent: SpentAmounts) => void
  /**
   * Ends the journal of this turn, and begins a new one: `execute` is called again, with `input` as its message. Use it for loops
   * whose journal would reach `limits.maxSteps`. Limits and names of steps count from the beginning again, and the keys of steps
   * are new. The task keeps its artifacts and its conversation, which `input` does not join.
   *
   * Before the call, await all steps and waits that the run has started. The call does not return: neither the code after it nor
   * `finally` blocks run, and later calls of this run's methods throw `LEASE_LOST`.
   *
   * @param input - A text, parts, or a message without `messageId` and `role`.
   * @returns Never resolves.
   * @throws {TypeError} while a step, a question, a wait or a delegation is under way, or an answer is unread; after
   *   {@link reply}; and for an `input` of another type.
   * @throws {A2AError} `JOURNAL_MISMATCH`; `INVALID_PARAMS`; `LIMIT_EXCEEDED` for an input over `limits.maxStepBytes`; the
   *   signal's reason.
   */
  readonly continueAs: (input: ContinuedInput) => Promise<never>
  /** Ends the task as `completed`. `message` joins the conversation. */
  readonly complete: (message?: Say) => void
  /** Ends the task as `failed`. `message` joins the conversation, and clients read it. */
  readonly fail: (message?: Say) => void
  /** Ends the task as `rejected`: the agent does not do this work. `message` joins the conversation. */
  readonly reject: (message?: Say) => void
  /**
   * Ends the task as `canceled`, and aborts {@link signal}. Call it when the user's message, or a system that your agent
   * calls, says that the work is not wanted. When a client cancels the task, you need not call it. `message` joins the
   * conversation.
   */
  readonly cancel: (message?: Say) => void
  /**
   * Replies with a message instead of a task. Where the task exists already, completes it with the message. Pass a promise
   * to announce the reply before its content is known: clients get no task while it is pending. If it resolves to
   * `undefined`, there is no reply, and the run continues with a task.
   *
   * @returns Resolves once the reply is made. Rejects with what `message` rejects with, which also fails the run.
   * @throws {TypeError} As a rejection, when the run has replied already.
   */
  readonly reply: (message: Say | Promise<Say | undefined>) => Promise<void>
}
