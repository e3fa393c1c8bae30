/**
 * The Responses API of the Azure stub, and its conversations.
 *
 * @module
 */
import type { ServerResponse } from 'node:http'
import { DISCONNECT, objectOf, sendJson, type StubRequest } from '../stub-server.js'
import type { Cursor, Step } from './script.js'
import { NOW, openStream, sendError, sendEvent, type Json, type Shared } from './wire.js'

type Reply = Json & { id: string; status: string; output: Json[] }
type Send = (type: string, data: Json) => void

const ENDED = new Set(['completed', 'failed', 'cancelled', 'incomplete'])

export class Responses {
  readonly #replies = new Map<string, { readonly reply: Reply; readonly cursor: Cursor }>()
  readonly #conversations = new Map<string, Json>()

  readonly #shared: Shared

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** Answers a path below the API's base; false where it is none of this API. */
  async answer(request: StubRequest, path: readonly string[], response: ServerResponse): Promise<boolean> {
    const [root, id, action] = path
    if (root === 'conversations') return this.#conversation(request, id, response)
    if (root !== 'responses') return false
    if (request.method === 'POST' && id === undefined) {
      await this.#create(request, response)
      return true
    }
    const { reply, cursor } = this.#replies.get(id ?? '') ?? {}
    if (!reply || !cursor) sendError(response, 404, `Response with id '${id ?? ''}' not found.`)
    else if (request.method === 'GET' && action === undefined) {
      this.#poll(reply, cursor)
      sendJson(response, 200, reply)
    } else if (request.method === 'POST' && action === 'cancel') this.#cancel(reply, cursor, response)
    else return false
    return true
  }

  #conversation(request: StubRequest, id: string | undefined, response: ServerResponse): boolean {
    if (request.method === 'POST' && id === undefined) {
      const metadata = objectOf(request.body)['metadata'] ?? {}
      const row = { id: this.#shared.id('conv'), object: 'conversation', created_at: NOW, metadata }
      this.#conversations.set(row.id, row)
      sendJson(response, 200, row)
      return true
    }
    const row = this.#conversations.get(id ?? '')
    if (request.method !== 'GET') return false
    if (row) sendJson(response, 200, row)
    else sendError(response, 404, `Conversation with id '${id ?? ''}' not found.`)
    return true
  }

  async #create(request: StubRequest, response: ServerResponse): Promise<void> {
    const body = objectOf(request.body)
    const { conversation, previous_response_id: previous, background, stream } = body
    if (typeof conversation === 'string' && !this.#conversations.has(conversation)) {
      sendError(response, 404, `Conversation with id '${conversation}' not found.`)
      return
    }
    if (typeof previous === 'string' && !this.#replies.has(previous)) {
      sendError(response, 400, `Previous response with id '${previous}' not found.`)
      return
    }
    const reply = newReply(this.#shared.id('resp'), body)
    const cursor = this.#shared.cursor()
    this.#replies.set(reply.id, { reply, cursor })
    if (stream === true) {
      openStream(response)
      await this.#walk(reply, cursor, response)
    } else if (background === true) sendJson(response, 200, reply)
    else await this.#walk(reply, cursor, response)
  }

  #cancel(reply: Reply, cursor: Cursor, response: ServerResponse): void {
    if (reply['background'] !== true) {
      sendError(response, 400, 'Only responses created with `background` can be cancelled.')
      return
    }
    if (!ENDED.has(reply.status)) {
      cursor.replace([])
      reply.status = 'cancelled'
    }
    sendJson(response, 200, reply)
  }

  /** Walks to the next status. */
  #poll(reply: Reply, cursor: Cursor): void {
    const writer = new Writer(reply, this.#shared, () => {})
    for (;;) {
      const step = cursor.poll()
      if (step === undefined || step === DISCONNECT) {
        writer.close()
        return
      }
      if (writer.write(step)) return
    }
  }

  /** Walks to the end, as a stream where one was asked for. */
  async #walk(reply: Reply, cursor: Cursor, response: ServerResponse): Promise<void> {
    const streamed = response.headersSent
    let sequence = 0
    const send: Send = (type, data) => {
      if (streamed) sendEvent(response, type, { type, sequence_number: sequence++, ...data })
    }
    const writer = new Writer(reply, this.#shared, send)
    send('response.created', { response: reply })
    if (reply.status === 'queued') send('response.queued', { response: reply })
    for (;;) {
      const step = await cursor.next()
      if (step === undefined) break
      if (step === DISCONNECT) return void response.destroy()
      if (typeof step === 'object' && 'error' in step) {
        send('error', { ...step.error, param: null })
        break
      }
      writer.write(step)
    }
    if (streamed) response.end()
    else sendJson(response, 200, reply)
  }
}

/** Writes steps into a reply, with the events of a stream. */
class Writer {
  #open: { id: string; index: number; text: string } | undefined

  readonly #reply: Reply
  readonly #shared: Shared
  readonly #send: Send

  constructor(reply: Reply, shared: Shared, send: Send) {
    this.#reply = reply
    this.#shared = shared
    this.#send = send
  }

  /** Whether the step was a status. */
  write(step: Exclude<Step, Promise<unknown>>): boolean {
    const reply = this.#reply
    if (typeof step === 'object' && 'text' in step) {
      this.#say(step.text)
      return false
    }
    this.close()
    if (typeof step === 'object' && 'calls' in step) {
      for (const { id, name, arguments: text } of step.calls) {
        this.#item({ type: 'function_call', call_id: id, name, arguments: text, status: 'completed' }, 'fc')
      }
      return false
    }
    if (typeof step === 'object' && 'item' in step) {
      this.#item(step.item, 'item')
      return false
    }
    Object.assign(reply, changeOf(step))
    this.#send(`response.${reply.status}`, { response: reply })
    return true
  }

  #item(item: Json, prefix: string): void {
    const whole = { id: this.#shared.id(prefix), ...item }
    const output_index = this.#reply.output.length
    this.#send('response.output_item.added', { output_index, item: whole })
    this.#reply.output.push(whole)
    this.#send('response.output_item.done', { output_index, item: whole })
  }

  #say(delta: string): void {
    this.#open ??= this.#begin()
    const { id: item_id, index: output_index } = this.#open
    this.#open.text += delta
    const at = { item_id, output_index, content_index: 0 }
    this.#send('response.output_text.delta', { ...at, delta, logprobs: [] })
  }

  #begin(): { id: string; index: number; text: string } {
    const open = { id: this.#shared.id('msg'), index: this.#reply.output.length, text: '' }
    const item = messageOf(open.id, [], 'in_progress')
    this.#send('response.output_item.added', { output_index: open.index, item })
    const at = { item_id: open.id, output_index: open.index, content_index: 0 }
    this.#send('response.content_part.added', { ...at, part: partOf('') })
    return open
  }

  /** Ends the message that is being written, if one is. */
  close(): void {
    if (!this.#open) return
    const { id, index: output_index, text } = this.#open
    const at = { item_id: id, output_index, content_index: 0 }
    this.#open = undefined
    this.#send('response.output_text.done', { ...at, text, logprobs: [] })
    this.#send('response.content_part.done', { ...at, part: partOf(text) })
    const item = messageOf(id, [partOf(text)], 'completed')
    this.#reply.output.push(item)
    this.#send('response.output_item.done', { output_index, item })
  }
}

const partOf = (text: string): Json => ({ type: 'output_text', text, annotations: [], logprobs: [] })
const messageOf = (id: string, content: readonly Json[], status: string): Json => ({
  id,
  type: 'message',
  role: 'assistant',
  status,
  content,
})

function newReply(id: string, body: Json): Reply {
  const { conversation } = body
  const agent = body['agent'] ?? body['agent_reference']
  return {
    id,
    object: 'response',
    created_at: NOW,
    // Background work starts in the queue.
    status: body['background'] === true ? 'queued' : 'in_progress',
    background: body['background'] === true,
    error: null,
    incomplete_details: null,
    instructions: body['instructions'] ?? null,
    metadata: body['metadata'] ?? {},
    model: body['model'] ?? 'gpt-4o',
    output: [],
    parallel_tool_calls: true,
    previous_response_id: body['previous_response_id'] ?? null,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    usage: null,
    ...(typeof conversation === 'string' && { conversation: { id: conversation } }),
    ...(agent !== undefined && { agent }),
  }
}

/** What a step that is a status changes of the reply. */
function changeOf(step: Step): Json {
  if (typeof step === 'string') return { status: step }
  if (typeof step !== 'object') return {}
  if ('status' in step) return { status: step.status }
  if ('failed' in step) return { status: 'failed', error: step.failed }
  if ('incomplete' in step) return { status: 'incomplete', incomplete_details: { reason: step.incomplete } }
  return {}
}
