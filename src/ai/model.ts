/**
 * Models whose calls are steps.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import { MAX_WEIGHT, weightOf } from '../runtime/weight.js'
import { toRetrySettings, type RetryOptions } from '../server/retry.js'
import type { StepContext } from '../server/journal/call-types.js'
import { finishReasonOf, rememberAnswer, writeAnswer, type AnswerWriter } from './answer.js'
import { brokenIn, callsEndedIn } from './tools.js'
import { failed, keepCall, showCall, type Turn } from './turn.js'
import type { ModelLike } from './types.js'

/** Options of a durable model. */
export interface ModelOptions {
  /** Whether clients see the answers. Default is `true`. Pass `false` for calls whose answers only your code reads. */
  readonly show?: boolean | undefined
  /**
   * When and how often a call that fails is made again, within its step: what the failed one has written is replaced. Default
   * is 3 attempts, 2 and 4 seconds apart, for errors that the provider marks as retryable. AI SDK's `maxRetries` has no effect.
   */
  readonly retry?: RetryOptions | undefined
}

type Call = {
  readonly abortSignal?: AbortSignal | undefined
  readonly prompt?: unknown
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

/** What a call of a model asks for, as far as this module reads it. */
interface Request {
  readonly signal?: AbortSignal | undefined
  /** The messages, as AI SDK gives them to models. Only results of tools are read. */
  readonly prompt?: unknown
}

/** Parts of an answer, as AI SDK's models give them. Other frameworks' answers are translated. */
export type Parts = readonly Unread[]

/** What each framework's durable model does with a call. */
export interface ModelCalls {
  /**
   * Makes a call as a step, and resolves to what `work` has returned, or a copy of it.
   *
   * @param work - Calls the model, writes the parts of its answer, and ends it by `complete`.
   * @param partsOf - The parts of an answer that `work` has returned.
   */
  readonly make: <T>(
    request: Request,
    work: (signal: AbortSignal, writer: AnswerWriter) => Promise<T>,
    partsOf: (answer: T) => Parts,
  ) => Promise<T>
  /** Ends an answer: with its bill, or with the error that the model reports. */
  readonly complete: (end: Unread, writer: AnswerWriter, model: unknown) => void
}

const RETRY: RetryOptions = {
  attempts: 3,
  backoff: { initialMs: 2_000 },
  isRetryable: (error) => isRecord(error) && error['isRetryable'] === true,
}
/** Parts that only say how the answer came. */
const TRANSPORT = ['raw', 'ping']
const DELTAS = ['text-delta', 'reasoning-delta', 'tool-input-delta']
/** The most characters of the name of a model. */
const MAX_NAME = 200

/** The calls of one model of a turn. */
export function modelCalls(turn: Turn, options: ModelOptions): ModelCalls {
  const { show = true, retry = RETRY } = options
  // The mistake is found here, not at the first call.
  toRetrySettings(retry, 'model()')
  const artifactId = show ? turn.artifactId : undefined
  turn.isShown ||= show
  return {
    make: async <T>(
      request: Request,
      work: (signal: AbortSignal, writer: AnswerWriter) => Promise<T>,
      partsOf: (answer: T) => Parts,
    ): Promise<T> => {
      turn.hasModel = true
      // The framework would ask the model what to do about the failure.
      const brokenId = brokenIn(turn, request.prompt)
      if (brokenId !== undefined) throw failed(turn, turn.broken.get(brokenId))
      const ended = callsEndedIn(turn, request.prompt)
      for (const each of ended) keepCall(turn, each)
      const within = async ({ signal }: StepContext): Promise<unknown> => {
        for (const each of ended) showCall(turn, each)
        const writer = artifactId === undefined ? NOTHING : writeAnswer(turn, artifactId)
        try {
          return await work(request.signal ? AbortSignal.any([request.signal, signal]) : signal, writer)
        } catch (error) {
          // Why the code has aborted it says more than what the model makes of it.
          request.signal?.throwIfAborted()
          throw error
        }
      }
      let answer: T
      try {
        // What `work` has returned, or a copy of it.
        answer = (await turn.run.step('model', within, { retry })) as T
      } catch (error) {
        throw failed(turn, error)
      }
      // The code has caught what an earlier model threw, and does without that.
      turn.failure = undefined
      rememberAnswer(turn, artifactId, partsOf(answer))
      return answer
    },
    complete: (end, writer, model) => {
      const amounts = amountsOf(end['usage'])
      if (Object.keys(amounts).length > 0) {
        turn.run.spend({ ...amounts, ...(typeof model === 'string' && { model: model.slice(0, MAX_NAME) }) })
      }
      complete(end, writer)
    },
  }
}

/** A model like `model`, each of whose calls is a step of the run. */
export function durableModel<M extends ModelLike>(turn: Turn, model: M, options: ModelOptions): M {
  const { make, complete } = modelCalls(turn, options)
  const { specificationVersion, provider, modelId } = model
  const wrapper = {
    ...{ specificationVersion, provider, modelId },
    get supportedUrls() {
      return model.supportedUrls
    },
    async doGenerate(params: Call): Promise<object> {
      requireVersion(turn, params)
      const work = async (abortSignal: AbortSignal, writer: AnswerWriter): Promise<Unread> => {
        // The framework passes the options of its version of models.
        const result = withoutTransport(await model.doGenerate({ ...params, abortSignal } as never))
        for (const part of partsOf(result)) writer.write(part)
        complete(result, writer, modelId)
        return result
      }
      return await make({ ...params, signal: params.abortSignal }, work, partsOf)
    },
    async doStream(params: Call): Promise<object> {
      requireVersion(turn, params)
      const work = async (abortSignal: AbortSignal, writer: AnswerWriter): Promise<Parts> => {
        // As above.
        const { stream } = await model.doStream({ ...params, abortSignal } as never)
        const parts = await readAll(stream, writer)
        complete(parts.findLast(({ type }) => type === 'finish') ?? {}, writer, modelId)
        return parts
      }
      const parts = await make({ ...params, signal: params.abortSignal }, work, (answer) => answer)
      return { stream: streamOf(parts) }
    },
  }
  // It has all that AI SDK uses of a model.
  return wrapper as unknown as M
}

/** @throws {TypeError} for versions of AI SDK that run tools without the approvals that code wants for them. */
function requireVersion(turn: Turn, { headers }: Call): void {
  const [, version, major] = /^ai\/((\d+)\S*)/.exec(headers?.['user-agent'] ?? '') ?? []
  if (major === undefined || Number(major) >= 7) return
  const error = `a2a-tasks/ai needs AI SDK 7, and this is version ${version}: run "npm install ai@7"`
  throw failed(turn, new TypeError(error))
}

const NOTHING: AnswerWriter = { write: () => undefined, end: () => undefined }

function complete(end: Unread, writer: AnswerWriter): void {
  const reason = finishReasonOf(end)
  // AI SDK says `interrupted` where a provider's stream has ended early.
  if (reason === undefined || reason === 'interrupted')
    throw new Error('The answer of the model ended before it was complete')
  if (reason === 'error') throw new Error('The model ended its answer with an error')
  writer.write({ ...end, type: 'finish' })
  writer.end()
}

/** Reads an answer to its end, and shows it as it comes. A text in many pieces becomes one part. */
async function readAll(
  stream: ReadableStream<{ readonly type: string }>,
  writer: AnswerWriter,
): Promise<Parts> {
  const parts: Unread[] = []
  const reader = stream.getReader()
  let weight = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return parts
      if (TRANSPORT.includes(value.type)) continue
      const part: Unread = { ...value }
      weight += weightOf(part)
      if (weight > MAX_WEIGHT) throw tooLarge(weight)
      if (value.type === 'error') throw part['error']
      writer.write(part)
      add(parts, part)
    }
  } catch (error) {
    // The provider may stop to send.
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}

function add(parts: Unread[], part: Unread): void {
  const { type, id, delta, providerMetadata } = part
  const last = parts.at(-1)
  const continues = last?.['type'] === type && last?.['id'] === id && providerMetadata === undefined
  if (last !== undefined && continues && DELTAS.includes(String(type))) {
    parts[parts.length - 1] = { ...last, delta: `${String(last['delta'])}${String(delta)}` }
  } else parts.push(part)
}

function tooLarge(actual: number): A2AError {
  const text = `The answer of the model is larger than the ${MAX_WEIGHT} bytes that a call keeps in memory`
  return new A2AError('LIMIT_EXCEEDED', text, { limit: 'answer', max: MAX_WEIGHT, actual })
}

function streamOf(parts: Parts): ReadableStream<Unread> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

function partsOf(result: Unread): Parts {
  const { content } = result
  return Array.isArray(content) ? content.filter(isRecord) : []
}

/** Without what is no data, or only says how the answer came: the request, and the body and headers of the response. */
function withoutTransport(result: object): Unread {
  const { response, ...kept }: Unread = { ...result, request: undefined }
  return { ...kept, response: { ...(isRecord(response) && response), headers: undefined, body: undefined } }
}

/** Numbers in AI SDK's second version of models, and objects with totals since then. */
function amountsOf(usage: unknown): Readonly<Record<string, number>> {
  if (!isRecord(usage)) return {}
  const { inputTokens: input, outputTokens: output, cachedInputTokens, reasoningTokens } = usage
  const found = {
    inputTokens: isRecord(input) ? input['total'] : input,
    outputTokens: isRecord(output) ? output['total'] : output,
    cachedInputTokens: isRecord(input) ? input['cacheRead'] : cachedInputTokens,
    reasoningTokens: isRecord(output) ? output['reasoning'] : reasoningTokens,
  }
  return Object.fromEntries(
    Object.entries(found).flatMap(([unit, amount]) =>
      typeof amount === 'number' && amount > 0 && amount < Infinity ? [[unit, amount] as const] : [],
    ),
  )
}
