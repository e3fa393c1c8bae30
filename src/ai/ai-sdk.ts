/**
 * An agent with AI SDK: its models, its tools and its approvals as parts of a durable function.
 *
 * @module
 */
import { observed } from '../runtime/abort.js'
import { readOptions } from '../runtime/options.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import { APPROVAL_OPTIONS, durableApproval, type ApprovalOptions } from './approval.js'
import { readMessages, type MessagesOptions } from './messages.js'
import { durableModel, type ModelOptions } from './model.js'
import { durableTools } from './tools.js'
import { endTurn, newTurn, requireModel, type AgentRun, type Turn, type TurnOptions } from './turn.js'
import type {
  ApprovalRules,
  ApprovalStatus,
  CallToApprove,
  ModelLike,
  ModelMessageLike,
  ResultLike,
} from './types.js'

/** Options of {@link aiSdk}. */
export type AiSdkOptions = TurnOptions

/** What {@link aiSdk} returns: the arguments of AI SDK's functions. The methods do not use `this`. */
export interface AiSdk {
  /**
   * A model each of whose calls is a step with the name `model`. Within the step its text goes to one artifact of the turn, as it
   * comes, its files become parts of it, its sources metadata, and what it used goes into `run.spend`. The framework
   * receives the answer as soon as it is stored, so a replay takes the same way.
   *
   * A call fails when the model reports an error, ends before its answer is complete, or sends more than 64 MiB. {@link finish}
   * then rejects with the error, and the task fails, unless a later call has ended well. A call by AI SDK 6 fails, too.
   *
   * @throws {TypeError} for a name instead of a model, and for an unknown option.
   */
  readonly model: <M extends ModelLike>(model: M, options?: ModelOptions) => M
  /**
   * Tools each of whose calls is a step with the name of the tool and the id of the call. A call that has ended is never made
   * again; `toolCallId` is the same in each attempt: with the id of the task before it, it is an idempotency key for services.
   * An error of a tool goes to the model, as without this function. The values of a generator are shown as progress; the
   * framework gets the last one.
   *
   * `execute` must not call methods of the run that record something, such as `requireInput`: leave tools that do out. Tools that
   * the provider executes stay as they are.
   *
   * @throws {TypeError} for a list, for a tool without a function that executes it, and for one of Mastra with `requireApproval` or a
   *   `suspendSchema`. A call of one that suspends makes the task fail.
   */
  readonly tools: <T extends Record<string, object>>(tools: T) => T
  /**
   * AI SDK's option `toolApproval`: where a rule says `'user-approval'`, the user is asked by `run.approve`. The model learns
   * that a call was rejected. A tool without a rule follows its own `needsApproval`. Where a rule does not let a call pass and AI
   * SDK has not asked, a tool of {@link tools} is not called, and {@link finish} rejects with a `TypeError`.
   *
   * @param rules - By the names of tools: AI SDK's statuses, or functions of the input that return them. With the type of the
   *   tools, `approval<typeof tools>`, functions know their inputs.
   */
  readonly approval: <T extends object = Readonly<Record<string, unknown>>>(
    rules?: ApprovalRules<T>,
    options?: ApprovalOptions,
  ) => (call: CallToApprove) => Promise<ApprovalStatus>
  /**
   * The conversation as messages for the model: those of this task, with the answers and the calls of tools of its earlier turns,
   * and, if asked for, what came before the task.
   *
   * @throws {TypeError | RangeError} As a rejection, naming the invalid option.
   */
  readonly messages: (options?: MessagesOptions) => Promise<ModelMessageLike[]>
  /**
   * Reads a result to its end: of `streamText`, of `generateText`, or of an agent.
   *
   * @throws As a rejection, why the model, a tool's step or an approval has failed, or the reason of the signal that aborted it. A
   *   `TypeError` when a tool waits for an approval that nobody asks for, and when no model of {@link model} was called.
   */
  readonly finish: (result: ResultLike | PromiseLike<ResultLike>) => Promise<void>
}

/**
 * Joins a run and AI SDK: `streamText` and `generateText`, or a `ToolLoopAgent`, with models and tools from here become a durable
 * function. AI SDK keeps its loop. Over a store, the agent continues after the last answer and the last call when its process
 * dies, and pays for no token twice.
 *
 * @param run - The run of `execute`. Call this function once for each call of `execute`.
 * @throws {TypeError} naming the invalid option.
 * @example
 * execute: async (run) => {
 *   const ai = aiSdk(run)
 *   return ai.finish(streamText({
 *     model: ai.model(openai('gpt-5')),
 *     tools: ai.tools({ weather, book }),
 *     toolApproval: ai.approval({ book: 'user-approval' }),
 *     messages: await ai.messages(),
 *     stopWhen: isStepCount(10),
 *     abortSignal: run.signal,
 *   }))
 * }
 */
export function aiSdk(run: AgentRun, options: AiSdkOptions = {}): AiSdk {
  const turn = newTurn(run, options, 'aiSdk()')
  return {
    model: (model, options = {}) => {
      if (!isRecord(model)) {
        throw new TypeError(
          'The model must be one of a provider, such as openai("gpt-5") or gateway("openai/gpt-5")',
        )
      }
      return durableModel(turn, model, readOptions(options, ['show', 'retry'], 'model()'))
    },
    tools: (tools) => {
      if (Array.isArray(tools)) {
        throw new TypeError('The tools must be an object with their names, such as ai.tools({ weather })')
      }
      return durableTools(turn, tools)
    },
    approval: (rules = {}, options = {}) =>
      durableApproval(turn, rules, readOptions(options, APPROVAL_OPTIONS, 'approval()')),
    messages: async (options = {}) =>
      await readMessages(run, readOptions(options, ['earlier'], 'messages()')),
    // Code may return without awaiting it.
    finish: (result) => observed(endTurn(turn, async () => await readResult(turn, await result))),
  }
}

/** @throws {TypeError} when a tool waits for an approval that nobody asks for. Otherwise what has failed. */
async function readResult(turn: Turn, ended: ResultLike): Promise<void> {
  const waiting = new Map<unknown, string>()
  // The content of a stream is a promise that no code would await: also of AI SDK 6, where the stream has another name.
  const parts: unknown = ended.stream ?? ('fullStream' in ended ? undefined : ended.content)
  if (!isIterable(parts))
    throw new TypeError(
      'ai.finish() takes a result of AI SDK 7: run "npm install ai@7". Of Mastra, await the promise of the agent instead',
    )
  for await (const part of parts) note(turn, waiting, part)
  for (const tool of waiting.values()) {
    throw new TypeError(
      `The tool "${tool}" waits for an approval: pass "toolApproval: ai.approval({ ${tool}: 'user-approval' })"`,
    )
  }
  requireModel(turn, '"model: ai.model(…)" to AI SDK')
}

function isIterable(value: unknown): value is AsyncIterable<{ readonly type: string }> {
  return (
    typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value)
  )
}

/** @throws what a part says that has failed. */
function note({ broken }: Turn, waiting: Map<unknown, string>, part: { readonly type: string }): void {
  const { type, approvalId, toolCall, toolCallId, isAutomatic, error, reason }: Unread = { ...part }
  if (type === 'error') throw error
  if (type === 'tool-error' && broken.has(toolCallId)) throw broken.get(toolCallId)
  if (type === 'abort') throw new Error(typeof reason === 'string' ? reason : 'The call was aborted')
  if (type === 'tool-approval-response') waiting.delete(approvalId)
  if (type !== 'tool-approval-request' || isAutomatic === true || !isRecord(toolCall)) return
  waiting.set(approvalId, String(toolCall['toolName']))
}
