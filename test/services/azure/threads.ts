/**
 * The classic API of the Azure stub: threads, messages, runs, and GET of an assistant.
 *
 * @module
 */
import type { ServerResponse } from 'node:http'
import { DISCONNECT, objectOf, sendJson, type StubRequest } from '../stub-server.js'
import type { Cursor, Step } from './script.js'
import { NOW, openStream, sendError, sendEvent, type Json, type Shared } from './wire.js'

type Row = Json & { id: string }
type Run = Row & { status: string }
interface Thread {
  readonly row: Row
  readonly messages: Row[]
  readonly runs: Map<string, { readonly run: Run; readonly cursor: Cursor }>
}
type Send = (event: string, data: unknown) => void

const ENDED = new Set(['completed', 'failed', 'cancelled', 'expired', 'incomplete'])

export class Threads {
  readonly #threads = new Map<string, Thread>()
  readonly #shared: Shared
  readonly #assistantId: string

  constructor(shared: Shared, assistantId: string) {
    this.#shared = shared
    this.#assistantId = assistantId
  }

  /** Answers a path below the project; false where it is none of this API. */
  async answer(request: StubRequest, path: readonly string[], response: ServerResponse): Promise<boolean> {
    const [root, threadId = '', part, runId = '', action] = path
    const call = `${request.method} ${path.map((name, i) => (i === 1 || i === 3 ? '*' : name)).join('/')}`
    if (root === 'assistants') {
      this.#assistant(threadId, response)
      return true
    }
    if (root !== 'threads') return false
    if (call === 'POST threads') sendJson(response, 200, this.#createThread(request.body).row)
    else if (call === 'POST threads/*' && threadId === 'runs') {
      const thread = this.#createThread(objectOf(request.body)['thread'])
      await this.#createRun(thread, request, response, true)
    } else {
      const thread = this.#threads.get(threadId)
      if (!thread) sendError(response, 404, `No thread found with id '${threadId}'.`)
      else if (call === 'GET threads/*') sendJson(response, 200, thread.row)
      else if (call === 'POST threads/*/messages') this.#addMessage(thread, request, response)
      else if (call === 'GET threads/*/messages')
        sendJson(response, 200, page(thread.messages, request.query))
      else if (call === 'POST threads/*/runs') await this.#createRun(thread, request, response)
      else if (part === 'runs') await this.#onRun(thread, runId, action, request, response)
      else return false
    }
    return true
  }

  #assistant(id: string, response: ServerResponse): void {
    if (id !== this.#assistantId) {
      sendError(response, 404, `No assistant found with id '${id}'.`)
      return
    }
    sendJson(response, 200, {
      id,
      object: 'assistant',
      created_at: NOW,
      name: 'agent',
      description: null,
      model: 'gpt-4o',
      instructions: null,
      tools: [],
      tool_resources: {},
      temperature: 1,
      top_p: 1,
      response_format: 'auto',
      metadata: {},
    })
  }

  #createThread(body: unknown): Thread {
    const { messages, metadata } = objectOf(body)
    const row = { id: this.#shared.id('thread'), object: 'thread', created_at: NOW, tool_resources: null }
    const thread: Thread = { row: { ...row, metadata: metadata ?? {} }, messages: [], runs: new Map() }
    for (const message of Array.isArray(messages) ? messages : []) {
      thread.messages.push(this.#message(thread, objectOf(message)))
    }
    this.#threads.set(row.id, thread)
    return thread
  }

  #message(thread: Thread, { role, content, metadata }: Json, of?: Run): Row {
    return {
      id: this.#shared.id('msg'),
      object: 'thread.message',
      created_at: NOW,
      thread_id: thread.row.id,
      status: 'completed',
      completed_at: NOW,
      incomplete_at: null,
      incomplete_details: null,
      role: role ?? 'user',
      content:
        typeof content === 'string' ? [{ type: 'text', text: { value: content, annotations: [] } }] : content,
      assistant_id: of?.['assistant_id'] ?? null,
      run_id: of?.id ?? null,
      attachments: [],
      metadata: metadata ?? {},
    }
  }

  #addMessage(thread: Thread, request: StubRequest, response: ServerResponse): void {
    const active = this.#active(thread)
    if (active) {
      sendError(response, 400, `Can't add messages to ${thread.row.id} while a run ${active.id} is active.`)
      return
    }
    const message = this.#message(thread, objectOf(request.body))
    thread.messages.push(message)
    sendJson(response, 200, message)
  }

  #active(thread: Thread): Run | undefined {
    return [...thread.runs.values()].find(({ run }) => !ENDED.has(run.status))?.run
  }

  async #createRun(
    thread: Thread,
    request: StubRequest,
    response: ServerResponse,
    isNew = false,
  ): Promise<void> {
    const { assistant_id, stream, metadata, instructions } = objectOf(request.body)
    if (assistant_id !== this.#assistantId) {
      sendError(response, 404, `No assistant found with id '${String(assistant_id)}'.`)
      return
    }
    const active = this.#active(thread)
    if (active) {
      sendError(response, 400, `Thread ${thread.row.id} already has an active run ${active.id}.`)
      return
    }
    const run = newRun(this.#shared.id('run'), thread.row.id, { assistant_id, metadata, instructions })
    const cursor = this.#shared.cursor()
    thread.runs.set(run.id, { run, cursor })
    if (stream !== true) {
      sendJson(response, 200, run)
      return
    }
    openStream(response)
    if (isNew) sendEvent(response, 'thread.created', thread.row)
    sendEvent(response, 'thread.run.created', run)
    sendEvent(response, 'thread.run.queued', run)
    await this.#stream(thread, run, cursor, response)
  }

  async #onRun(
    thread: Thread,
    id: string,
    action: string | undefined,
    request: StubRequest,
    response: ServerResponse,
  ): Promise<void> {
    const { run, cursor } = thread.runs.get(id) ?? {}
    if (!run || !cursor) {
      sendError(response, 404, `No run found with id '${id}'.`)
      return
    }
    if (request.method === 'GET' && action === undefined) {
      this.#poll(thread, run, cursor)
      sendJson(response, 200, run)
    } else if (request.method === 'GET' && action === 'steps') {
      sendJson(response, 200, page([], request.query))
    } else if (action === 'cancel') {
      if (ENDED.has(run.status)) {
        sendError(response, 400, `Cannot cancel run with status '${run.status}'.`)
        return
      }
      cursor.replace(this.#shared.onCancel)
      Object.assign(run, { status: 'cancelling', required_action: null })
      sendJson(response, 200, run)
    } else if (action === 'submit_tool_outputs') {
      if (run.status !== 'requires_action') {
        sendError(response, 400, `Runs in status "${run.status}" do not accept tool outputs.`)
        return
      }
      Object.assign(run, { status: 'queued', required_action: null })
      if (objectOf(request.body)['stream'] !== true) {
        sendJson(response, 200, run)
        return
      }
      openStream(response)
      sendEvent(response, 'thread.run.queued', run)
      await this.#stream(thread, run, cursor, response)
    } else sendError(response, 404, 'No such operation.')
  }

  /** Walks to the next status. */
  #poll(thread: Thread, run: Run, cursor: Cursor): void {
    if (run.status === 'requires_action') return
    const pieces: string[] = []
    for (;;) {
      const step = cursor.poll()
      if (step === undefined) {
        this.#say(thread, run, pieces)
        return
      }
      if (typeof step === 'object' && 'text' in step) pieces.push(step.text)
      else if (step !== DISCONNECT && !(typeof step === 'object' && ('item' in step || 'error' in step))) {
        Object.assign(run, changeOf(step))
        this.#say(thread, run, pieces, run.status === 'incomplete' ? 'incomplete' : 'completed')
        return
      }
    }
  }

  /** Makes a message of the pieces, if there are any. */
  #say(thread: Thread, run: Run, pieces: readonly string[], status = 'completed'): void {
    if (pieces.length === 0) return
    const message = this.#message(thread, { role: 'assistant', content: pieces.join('') }, run)
    thread.messages.push({ ...message, status })
  }

  async #stream(thread: Thread, run: Run, cursor: Cursor, response: ServerResponse): Promise<void> {
    const send: Send = (event, data) => sendEvent(response, event, data)
    // A message is one while it is being streamed, and whole at the next status.
    let open: { message: Row; text: string } | undefined
    const close = (status: 'completed' | 'incomplete'): void => {
      if (!open) return
      const content = [{ type: 'text', text: { value: open.text, annotations: [] } }]
      const message: Row = { ...open.message, status, content }
      thread.messages.push(message)
      send(`thread.message.${status}`, message)
      open = undefined
    }
    for (;;) {
      const before = run.status
      const step = await cursor.next()
      // A cancel came from outside while this waited.
      if (run.status === 'cancelling' && before !== 'cancelling') send('thread.run.cancelling', run)
      if (step === undefined) break
      if (step === DISCONNECT) return void response.destroy()
      if (typeof step === 'object' && 'error' in step) {
        send('error', { error: { ...step.error, type: 'server_error', param: null } })
        break
      }
      if (typeof step === 'object' && 'item' in step) continue
      if (typeof step === 'object' && 'text' in step) {
        if (!open) {
          const message = this.#message(thread, { role: 'assistant', content: [] }, run)
          open = { message: { ...message, status: 'in_progress', completed_at: null }, text: '' }
          send('thread.message.created', open.message)
          send('thread.message.in_progress', open.message)
          open.message = message
        }
        open.text += step.text
        const delta = { content: [{ index: 0, type: 'text', text: { value: step.text } }] }
        send('thread.message.delta', { id: open.message.id, object: 'thread.message.delta', delta })
        continue
      }
      close(typeof step === 'object' && 'incomplete' in step ? 'incomplete' : 'completed')
      Object.assign(run, changeOf(step))
      send(`thread.run.${run.status}`, run)
      if (run.status === 'requires_action') break
    }
    send('done', '[DONE]')
    response.end()
  }
}

function newRun(id: string, threadId: string, { assistant_id, metadata, instructions }: Json): Run {
  return {
    id,
    object: 'thread.run',
    created_at: NOW,
    assistant_id,
    thread_id: threadId,
    status: 'queued',
    required_action: null,
    last_error: null,
    started_at: null,
    expires_at: NOW + 600,
    cancelled_at: null,
    failed_at: null,
    completed_at: null,
    incomplete_details: null,
    model: 'gpt-4o',
    instructions: instructions ?? '',
    tools: [],
    tool_resources: {},
    metadata: metadata ?? {},
    temperature: 1,
    top_p: 1,
    max_completion_tokens: null,
    max_prompt_tokens: null,
    truncation_strategy: { type: 'auto', last_messages: null },
    usage: null,
    response_format: 'auto',
    tool_choice: 'auto',
    parallel_tool_calls: true,
  }
}

/** What a step that is a status changes of the run. */
function changeOf(step: Step): Json {
  if (typeof step === 'string') {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    return { status: step, ...(ENDED.has(step) && { [`${step}_at`]: NOW, usage, expires_at: null }) }
  }
  if (typeof step !== 'object') return {}
  if ('status' in step) return { status: step.status }
  if ('failed' in step) return { status: 'failed', failed_at: NOW, last_error: step.failed }
  if ('incomplete' in step) return { status: 'incomplete', incomplete_details: { reason: step.incomplete } }
  if (!('calls' in step)) return {}
  const tool_calls = step.calls.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }))
  return {
    status: 'requires_action',
    required_action: { type: 'submit_tool_outputs', submit_tool_outputs: { tool_calls } },
  }
}

/** A page of a list: newest first unless `order=asc`, 20 unless `limit`, after the id in `after`, of one `run_id`. */
function page(rows: readonly Row[], query: URLSearchParams): Json {
  const runId = query.get('run_id')
  const sorted = query.get('order') === 'asc' ? [...rows] : [...rows].reverse()
  const chosen = sorted.filter((row) => runId === null || row['run_id'] === runId)
  const start = chosen.findIndex(({ id }) => id === query.get('after')) + 1
  const data = chosen.slice(start, start + Number(query.get('limit') ?? 20))
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + data.length < chosen.length,
  }
}
