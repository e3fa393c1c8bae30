/**
 * A language model with a script, for agents with AI SDK: in their tests, and before they have a key. Nothing of the framework
 * is imported.
 *
 * @module
 */
import type { ReadonlyJson } from '../core/json-types.js'

/** A call of a tool, as a fake model asks for it. */
export interface FakeCall {
  /** The name of the tool. */
  readonly tool: string
  readonly input: ReadonlyJson
}

/** An answer of a fake model: a text, a call of a tool, or several of them in their order. */
export type FakeAnswer = string | FakeCall | readonly (string | FakeCall)[]

/** The model that {@link fakeModel} returns: a `LanguageModelV4` of AI SDK. */
export interface FakeModel {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: Record<string, RegExp[]>
  doGenerate(options: FakeRequest): Promise<FakeEnd & { content: FakeContent[]; warnings: [] }>
  doStream(options: FakeRequest): Promise<{ stream: ReadableStream<FakeStreamPart> }>
}

/** What a fake model reads of a request: the messages of the conversation. */
export interface FakeRequest {
  readonly prompt: readonly { readonly role: string }[]
}

type FakeContent =
  { type: 'text'; text: string } | { type: 'tool-call'; toolCallId: string; toolName: string; input: string }

interface FakeEnd {
  finishReason: { unified: 'stop' | 'tool-calls'; raw: undefined }
  usage: {
    inputTokens: { total: number; noCache: undefined; cacheRead: undefined; cacheWrite: undefined }
    outputTokens: { total: number; text: undefined; reasoning: undefined }
  }
}

type FakeStreamPart =
  | Exclude<FakeContent, { type: 'text' }>
  | { type: 'stream-start'; warnings: [] }
  | { type: 'text-start' | 'text-end'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | ({ type: 'finish' } & FakeEnd)

/** About as long as a token of English. */
const TOKEN_CHARACTERS = 4

/**
 * A model with a script: a list of answers for each message of the user in the conversation, answers to questions included. The
 * last list is for all further messages. The n-th answer of a list is for a model that has spoken n − 1 times since the message. So the model has no state, and
 * an agent without memory, which sees one message, gets the first list each time. A stream has a piece for each word. The usage is
 * about that of a real model.
 *
 * A call after the last answer of a list rejects with an `Error`, which fails the task of the agent.
 *
 * @param answers - The answers to the first message of the user.
 * @param later - Those to the second one, and so on. Default is the first list again.
 * @example
 * const model = fakeModel([{ tool: 'book', input: { city: 'Rome' } }, 'Have a good trip'], ['You fly to Rome'])
 */
export function fakeModel(
  answers: readonly FakeAnswer[],
  ...later: readonly (readonly FakeAnswer[])[]
): FakeModel {
  const turns = [answers, ...later]
  const contentFor = ({ prompt }: FakeRequest): FakeContent[] => {
    const turn = Math.max(1, prompt.filter(({ role }) => role === 'user').length)
    const since = prompt.slice(prompt.findLastIndex(({ role }) => role === 'user') + 1)
    const count = since.filter(({ role }) => role === 'assistant').length + 1
    const own = turns[turn - 1] ?? turns.at(-1) ?? []
    const answer = own[count - 1]
    if (answer === undefined)
      throw new Error(
        `fakeModel() has ${own.length} answers to message ${turn} of the user, and was asked for answer ${count}`,
      )
    const parts = isList(answer) ? answer : [answer]
    return parts.map((part, at): FakeContent => {
      if (typeof part === 'string') return { type: 'text', text: part }
      const toolCallId = `call-${turn}-${count}-${at + 1}`
      return { type: 'tool-call', toolCallId, toolName: part.tool, input: JSON.stringify(part.input) }
    })
  }
  return {
    ...{ specificationVersion: 'v4', provider: 'a2a-tasks', modelId: 'fake', supportedUrls: {} },
    // A rejection, as of a real model.
    async doGenerate(request) {
      const content = await Promise.resolve(contentFor(request))
      return { content, warnings: [], ...endOf(request, content) }
    },
    async doStream(request) {
      const content = await Promise.resolve(contentFor(request))
      const parts: FakeStreamPart[] = [
        { type: 'stream-start', warnings: [] },
        ...content.flatMap((part, at) => (part.type === 'text' ? piecesOf(part.text, String(at)) : [part])),
        { type: 'finish', ...endOf(request, content) },
      ]
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part)
            controller.close()
          },
        }),
      }
    },
  }
}

// TypeScript does not narrow a read-only array by `Array.isArray`.
function isList(answer: FakeAnswer): answer is readonly (string | FakeCall)[] {
  return Array.isArray(answer)
}

function piecesOf(text: string, id: string): FakeStreamPart[] {
  const words = text.split(/(?<=\s)/)
  return [
    { type: 'text-start', id },
    ...words.map((delta): FakeStreamPart => ({ type: 'text-delta', id, delta })),
    { type: 'text-end', id },
  ]
}

function endOf({ prompt }: FakeRequest, content: readonly FakeContent[]): FakeEnd {
  const calls = content.some(({ type }) => type === 'tool-call')
  return {
    finishReason: { unified: calls ? 'tool-calls' : 'stop', raw: undefined },
    usage: {
      inputTokens: {
        ...{ total: tokensOf(prompt), noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      },
      outputTokens: { total: tokensOf(content), text: undefined, reasoning: undefined },
    },
  }
}

function tokensOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / TOKEN_CHARACTERS)
}
