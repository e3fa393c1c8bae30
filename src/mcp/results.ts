/**
 * Results of tools: what the agent has made, asks, or could not do.
 *
 * @module
 */
import type { JsonObject, JsonValue } from '../core/json-types.js'
import type { Message, Part } from '../core/task.js'
import { toStandardBase64 } from '../runtime/base64.js'
import { textOfTask } from '../client/run/remote-task.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import { compact } from '../runtime/compact.js'
import { isRecord } from '../runtime/unread.js'
import { amountIn } from './progress.js'
import { questionId } from './question-ids.js'
import { problemOfOutput, type Tool } from './tools.js'

/** The key in `_meta` of a result under which the task and the conversation of A2A are. */
const A2A = 'a2a-tasks.dev/task'

type Parts = readonly Part[]

interface Telling {
  readonly tellContext: boolean
}

/** The result of the tool: a `CallToolResult`. */
export function resultOfTask(task: RemoteTask, tool: Tool | undefined, settings: Telling): JsonObject {
  const { artifacts, message, state, id, contextId } = task
  const made = artifacts.flatMap(({ artifactId, parts }) =>
    contentOf(parts, `a2a://tasks/${encodeURIComponent(id)}/artifacts/${encodeURIComponent(artifactId)}`),
  )
  const facts = { taskId: id, state, contextId }
  if (state !== 'completed') {
    const reason = textContent(textOfAll(task) || `The task has ${WORDS[state] ?? state}`)
    return withFacts({ content: [...made, ...reason], isError: true }, facts, settings)
  }
  const said = made.length > 0 ? made : contentOf(message?.parts ?? [], `a2a://tasks/${id}/message`)
  const content = said.length > 0 ? said : textContent(textOfAll(task))
  const parts =
    artifacts.length > 0 ? artifacts.flatMap((artifact) => artifact.parts) : (message?.parts ?? [])
  return withFacts(withOutput(content, dataOf(parts), tool), facts, settings)
}

interface Facts {
  readonly taskId?: string
  readonly state?: string
  readonly contextId: string | undefined
}

/** The result with the task and the conversation of A2A: for programs, and on demand for models. */
function withFacts(result: Result, facts: Facts, { tellContext }: Telling): JsonObject {
  const { contextId } = facts
  const _meta = { [A2A]: compact(facts) as JsonObject }
  if (!tellContext || contextId === undefined) return { ...result, _meta }
  const text = `To continue this conversation, call with "contextId": ${JSON.stringify(contextId)}`
  const hint = { type: 'text', text, annotations: { audience: ['assistant'] } }
  return { ...result, content: [...result.content, hint], _meta }
}

/** As `textOfTask`. Reports of progress are no answers. */
function textOfAll(task: RemoteTask): string {
  return textOfTask({ ...task, messages: task.messages.filter((each) => amountIn(each) === undefined) })
}

const WORDS: Readonly<Record<string, string>> = {
  failed: 'failed',
  rejected: 'been rejected by the agent',
  canceled: 'been canceled',
}

/** The result of a call that the agent has answered without a task. */
export function resultOfMessage(
  { parts, messageId, contextId }: Message,
  tool: Tool | undefined,
  settings: Telling,
): JsonObject {
  const content = contentOf(parts, `a2a://messages/${encodeURIComponent(messageId)}`)
  return withFacts(withOutput(content, dataOf(parts), tool), { contextId }, settings)
}

/** A result that a model can do something about. */
export function errorResult(text: string): Result {
  return { content: textContent(text), isError: true }
}

/**
 * The question of an agent for a client that cannot ask its user: the model answers by a second call. The id that it gets is of
 * the question, so that a late answer is none to the next question.
 */
export function questionResult(task: RemoteTask, addresses: readonly string[]): JsonObject {
  const { id: taskId, state, contextId, message } = task
  const id = JSON.stringify(message === undefined ? taskId : questionId(taskId, message.messageId))
  const how =
    state === 'auth-required'
      ? 'The agent waits until the user has authorized it'
      : `To answer, call this tool again with "taskId": ${id} and the answer as "message"`
  const text = [textOfTask(task), ...addresses, how].filter((each) => each !== '').join('\n\n')
  const facts = { taskId, state, contextId }
  return withFacts({ content: textContent(text), isError: false }, facts, { tellContext: false })
}

/** A `CallToolResult`. */
interface Result extends JsonObject {
  content: JsonObject[]
  isError: boolean
}

function withOutput(content: JsonObject[], data: readonly JsonValue[], tool: Tool | undefined): Result {
  const [output] = data
  const problem = tool && problemOfOutput(tool, output)
  if (problem !== undefined) return errorResult(problem)
  const result = { content, isError: false }
  // Versions with sessions have objects only.
  return data.length === 1 && isRecord(output) ? { ...result, structuredContent: output } : result
}

function dataOf(parts: Parts): JsonValue[] {
  return parts.flatMap(({ data }) => (data === undefined ? [] : [data]))
}

function textContent(text: string): JsonObject[] {
  return [{ type: 'text', text }]
}

/** Chunks of a text are one content. */
function contentOf(parts: Parts, uri: string): JsonObject[] {
  const all: JsonObject[] = []
  let text = ''
  const endText = (): void => {
    if (text !== '') all.push({ type: 'text', text })
    text = ''
  }
  for (const [index, part] of parts.entries()) {
    if (part.text !== undefined) {
      text += part.text
      continue
    }
    endText()
    const content = contentOfPart(part, `${uri}/${index}`)
    if (content !== undefined) all.push(content)
  }
  endText()
  return all
}

function contentOfPart({ data, url, raw, mediaType, filename }: Part, uri: string): JsonObject | undefined {
  if (data !== undefined) return { type: 'text', text: JSON.stringify(data) }
  const type = mediaType === undefined ? {} : { mimeType: mediaType }
  if (url !== undefined) return { type: 'resource_link', uri: url, name: filename ?? url, ...type }
  if (raw === undefined) return undefined
  const bytes = toStandardBase64(raw)
  const [, kind] = /^(image|audio)\//.exec(mediaType ?? '') ?? []
  if (kind !== undefined) return { type: kind, data: bytes, ...type }
  const name = filename === undefined ? uri : `${uri}/${encodeURIComponent(filename)}`
  return { type: 'resource', resource: { uri: name, blob: bytes, ...type } }
}
