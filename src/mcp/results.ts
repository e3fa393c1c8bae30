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
import { isRecord } from '../runtime/unread.js'
import { waitsForOthers } from './questions.js'
import { problemOfOutput, type Tool } from './tools.js'

/** The key in `_meta` of a result under which the task of A2A is. */
const A2A = 'a2a-tasks.dev/task'

type Parts = readonly Part[]

/** The result of the tool: a `CallToolResult`. */
export function resultOfTask(task: RemoteTask, tool: Tool | undefined): JsonObject {
  const { artifacts, message, state, id, contextId } = task
  const made = artifacts.flatMap(({ artifactId, parts }) =>
    contentOf(parts, `a2a://tasks/${encodeURIComponent(id)}/artifacts/${encodeURIComponent(artifactId)}`),
  )
  const meta = { [A2A]: { taskId: id, state, ...(contextId !== undefined && { contextId }) } }
  if (state !== 'completed') {
    const reason = { type: 'text', text: textOfTask(task) || `The task has ${WORDS[state] ?? state}` }
    return { content: [...made, reason], isError: true, _meta: meta }
  }
  const said = made.length > 0 ? made : contentOf(message?.parts ?? [], `a2a://tasks/${id}/message`)
  const content = said.length > 0 ? said : textContent(textOfTask(task))
  const parts =
    artifacts.length > 0 ? artifacts.flatMap((artifact) => artifact.parts) : (message?.parts ?? [])
  return withOutput({ content, isError: false, _meta: meta }, dataOf(parts), tool)
}

const WORDS: Readonly<Record<string, string>> = {
  failed: 'failed',
  rejected: 'been rejected by the agent',
  canceled: 'been canceled',
}

/** The result of a call that the agent has answered without a task. */
export function resultOfMessage({ parts, messageId }: Message, tool: Tool | undefined): JsonObject {
  const content = contentOf(parts, `a2a://messages/${encodeURIComponent(messageId)}`)
  return withOutput({ content, isError: false }, dataOf(parts), tool)
}

/** A result that a model can do something about. */
export function errorResult(text: string): JsonObject {
  return { content: textContent(text), isError: true }
}

/** The question of an agent for a client that cannot ask its user: the model answers by a second call. */
export function questionResult(task: RemoteTask, addresses: readonly string[]): JsonObject {
  const { id: taskId, state } = task
  const how =
    state === 'auth-required'
      ? 'The agent waits until the user has authorized it'
      : waitsForOthers(task)
        ? 'The agent waits for the answer of another user'
        : `To answer, call this tool again with "taskId": "${taskId}" and the answer as "message"`
  const text = [textOfTask(task), ...addresses, how].filter((each) => each !== '').join('\n\n')
  return { content: textContent(text), isError: false, _meta: { [A2A]: { taskId, state } } }
}

function withOutput(result: JsonObject, data: readonly JsonValue[], tool: Tool | undefined): JsonObject {
  const [output] = data
  const problem = tool && problemOfOutput(tool, output)
  if (problem !== undefined) return errorResult(problem)
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
