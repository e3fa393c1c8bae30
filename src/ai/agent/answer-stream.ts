/**
 * The work of an agent as the parts of a model's answer.
 *
 * @module
 */
import type { RunResult, RunUpdate } from '../../client/run/run-types.js'
import type { Message } from '../../core/task.js'
import { spendingOf } from '../../core/spending.js'
import { isLink } from '../../runtime/link.js'
import { isRecord, type Unread } from '../../runtime/unread.js'
import { textOf } from '../../wire/text.js'
import { toolCallsIn, type ToolCall } from '../../wire/tool-calls.js'
import type { RemoteTask } from '../../wire/client/dialect.js'
import type { JsonLike } from '../types.js'
import { PROVIDER } from './prompt.js'
import type { AgentModelEnd, AgentModelMetadata, AgentModelStreamPart } from './model-types.js'

type Artifact = RemoteTask['artifacts'][number]
type AnyPart = Artifact['parts'][number]

/** How much of an artifact the answer has. */
interface Written {
  text: string
  others: number
}

const REASONS = ['length', 'content-filter', 'other'] as const

/** Writes the parts of one answer. */
export class AnswerStream {
  readonly #write: (part: AgentModelStreamPart) => void
  readonly #spent: Unread
  readonly #written = new Map<string, Written>()
  readonly #calls = new Map<string, ToolCall['state']>()
  #place: { [key: string]: JsonLike } = {}
  #taskId = ''
  /** The artifact whose text is being written. */
  #open: string | undefined
  #blocks = 0
  #hasText = false
  /** The files that are given by their URLs. */
  readonly #links: string[] = []

  /** @param spent - What the task had spent before. */
  constructor(spent: Unread, write: (part: AgentModelStreamPart) => void) {
    this.#spent = spent
    this.#write = write
  }

  readonly update = ({ event, task }: RunUpdate): void => {
    this.#locate(task)
    if (event.type === 'task') for (const artifact of event.task.artifacts) this.#sync(artifact)
    else if (event.type === 'artifact' && event.append) this.#append(event.artifact)
    else if (event.type === 'artifact') this.#sync(event.artifact)
    const message = event.type === 'status' ? event.message : undefined
    for (const call of toolCallsIn(message)) this.#showCall(call)
    if (message?.metadata?.['reasoning'] === true) this.#reason(textOf(message))
  }

  /** @param result - An answer, or a question. */
  end(result: RunResult): void {
    const { task } = result
    if (task !== undefined) this.#locate(task)
    const artifacts = 'message' in result ? this.#reply(result.message) : (task?.artifacts ?? [])
    for (const artifact of artifacts) this.#sync(artifact)
    for (const call of artifacts.flatMap(toolCallsIn)) this.#showCall(call)
    const spent = spendingOf(task)?.total ?? {}
    const waitsFor = result.ok ? undefined : result.type
    if (task !== undefined && waitsFor !== undefined) this.#ask(task, spent)
    else if (!this.#hasText) this.#sayInstead(result.text)
    this.#close()
    for (const source of artifacts.flatMap(sourcesOf)) this.#write(source)
    this.#write({ type: 'finish', ...this.#endOf(artifacts, spent, waitsFor) })
  }

  /** The question is the last text: it has the place where the conversation goes on. */
  #ask({ message }: RemoteTask, spent: Unread): void {
    // Amounts are numbers.
    this.#place = { ...this.#place, taskId: this.#taskId, spent: { ...spent } as Record<string, number> }
    this.#say('', message === undefined ? '' : textOf(message))
  }

  /** An answer without a text: AI SDK leaves sources out of the next prompt, and a text has the place of the conversation. */
  #sayInstead(status: string): void {
    const text = status || this.#links.join('\n')
    if (text !== '') this.#say('', text)
  }

  /** An agent that replies without a task. */
  #reply({ contextId, messageId, parts }: Message): Artifact[] {
    if (contextId !== undefined) this.#place = { contextId }
    return [{ artifactId: messageId, parts: [...parts] }]
  }

  #locate({ id, contextId }: RemoteTask): void {
    this.#taskId = id
    if (contextId !== undefined) this.#place = { contextId }
  }

  get #metadata(): AgentModelMetadata {
    return { [PROVIDER]: this.#place }
  }

  /** Writes what the answer lacks of an artifact. One that was replaced is written again. */
  #sync(artifact: Artifact): void {
    const { artifactId, parts } = artifact
    const known = this.#written.get(artifactId) ?? { text: '', others: 0 }
    const isContinued = textOf(artifact).startsWith(known.text)
    let { length } = isContinued ? known.text : ''
    let others = isContinued ? known.others : 0
    if (!isContinued) {
      this.#close()
      this.#written.delete(artifactId)
    }
    for (const part of parts) {
      if (part.text === undefined) {
        others -= 1
        if (others < 0) this.#writePart(artifactId, part)
        continue
      }
      const rest = part.text.slice(length)
      length -= part.text.length - rest.length
      if (rest !== '') this.#writePart(artifactId, { text: rest })
    }
  }

  #append({ artifactId, parts }: Artifact): void {
    for (const part of parts) this.#writePart(artifactId, part)
  }

  #writePart(artifactId: string, part: AnyPart): void {
    const { text, raw, url, data, mediaType = 'application/octet-stream' } = part
    const written = this.#written.get(artifactId) ?? { text: '', others: 0 }
    this.#written.set(artifactId, written)
    if (text !== undefined) {
      written.text += text
      if (text !== '') this.#say(artifactId, text)
      return
    }
    written.others += 1
    this.#close()
    if (raw !== undefined) {
      const bytes = { type: 'data' as const, data: raw }
      this.#write({ type: 'file', mediaType, data: bytes, providerMetadata: this.#metadata })
    } else if (url !== undefined) this.#link(`${artifactId}/${written.others}`, part, url)
    else {
      this.#say(artifactId, JSON.stringify(data))
      this.#close()
    }
  }

  /** AI SDK would download a file, and fail where it cannot. */
  #link(id: string, { filename }: AnyPart, url: string): void {
    if (isLink(url)) {
      this.#links.push(url)
      const title = filename !== undefined && { title: filename }
      this.#write({ type: 'source', sourceType: 'url', id, url, ...title })
      return
    }
    this.#say(id, url)
    this.#close()
  }

  /** Each artifact has blocks of its own, which its files interrupt. */
  #say(artifactId: string, delta: string): void {
    if (this.#open !== artifactId) {
      this.#close()
      this.#blocks += 1
      this.#open = artifactId
      this.#write({ type: 'text-start', id: String(this.#blocks) })
    }
    this.#hasText = true
    this.#write({ type: 'text-delta', id: String(this.#blocks), delta })
  }

  #close(): void {
    if (this.#open === undefined) return
    this.#open = undefined
    this.#write({ type: 'text-end', id: String(this.#blocks), providerMetadata: this.#metadata })
  }

  #reason(delta: string): void {
    this.#close()
    this.#blocks += 1
    const id = String(this.#blocks)
    this.#write({ type: 'reasoning-start', id })
    this.#write({ type: 'reasoning-delta', id, delta })
    this.#write({ type: 'reasoning-end', id })
  }

  #showCall({ id, name, state, input, output, error }: ToolCall): void {
    const before = this.#calls.get(id)
    if (before !== undefined && before !== 'progress' && before !== 'called') return
    this.#calls.set(id, state)
    this.#close()
    // Ids of calls are unique in their task only.
    const call = { toolCallId: `${this.#taskId}/${id}`, toolName: name, dynamic: true as const }
    if (before === undefined) {
      const given = { input: JSON.stringify(input ?? {}), providerExecuted: true as const }
      this.#write({ type: 'tool-call', ...call, ...given })
    }
    if (state === 'called') return
    const isError = state === 'failed' || state === 'rejected'
    // JSON of this call alone.
    const result = (isError ? (error ?? state) : (output ?? '')) as NonNullable<JsonLike>
    this.#write({
      ...{ type: 'tool-result', ...call, result },
      ...(isError && { isError }),
      ...(state === 'progress' && { preliminary: true }),
    })
  }

  #endOf(artifacts: readonly Artifact[], spent: Unread, waitsFor: string | undefined): AgentModelEnd {
    const amount = (unit: string): number | undefined => {
      const [now, before] = [spent[unit], this.#spent[unit]]
      if (typeof now !== 'number') return undefined
      return typeof before === 'number' ? now - before : now
    }
    const given = artifacts.map(({ metadata }) => metadata?.['finishReason'])
    const raw = waitsFor ?? given.find((each) => typeof each === 'string')
    return {
      finishReason: {
        unified: REASONS.find((each) => each === raw) ?? 'stop',
        raw: typeof raw === 'string' ? raw : undefined,
      },
      usage: {
        inputTokens: {
          ...{ total: amount('inputTokens'), noCache: undefined, cacheWrite: undefined },
          cacheRead: amount('cachedInputTokens'),
        },
        outputTokens: {
          ...{ total: amount('outputTokens'), text: undefined, reasoning: amount('reasoningTokens') },
        },
      },
      providerMetadata: this.#metadata,
    }
  }
}

/** The pages that the models of an agent have named. */
function sourcesOf({ metadata }: Artifact): Extract<AgentModelStreamPart, { type: 'source' }>[] {
  const sources: unknown = metadata?.['sources']
  return (Array.isArray(sources) ? sources.filter(isRecord) : []).flatMap(({ id, url, title }) =>
    typeof id === 'string' && isLink(url)
      ? [{ type: 'source', sourceType: 'url', id, url, ...(typeof title === 'string' && { title }) }]
      : [],
  )
}
