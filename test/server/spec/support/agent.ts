/**
 * An agent and its clients in one process: requests in each binding, answers in one form for all.
 *
 * @module
 */
import { TaskManager, type TaskManagerOptions } from 'a2a-tasks'
import {
  AgentCardSchema,
  JsonObjectSchema,
  ListTasksResponseSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskSchema,
  type AgentCard,
  type JsonObject,
  type ListTasksResponse,
  type Message,
  type Part,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
} from 'a2a-tasks/schemas'
import {
  createRequestHandler,
  type ErrorContext,
  type Execute,
  type RequestHandler,
  type RequestHandlerOptions,
} from 'a2a-tasks/server'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'
import { expect } from 'vitest'
import type * as z from 'zod/mini'

export const ORIGIN = 'https://agent.test'

export interface TestAgent {
  readonly handler: RequestHandler
  readonly tasks: TaskManager
  readonly clock: ManualClock
  /** What `onError` received. */
  readonly errors: { readonly error: unknown; readonly context: ErrorContext }[]
}

/** As much of an agent as clients see. */
export interface Reachable {
  readonly handler: Pick<RequestHandler, 'fetch'>
}

export interface TestAgentOptions extends Partial<Omit<RequestHandlerOptions, 'execute' | 'tasks'>> {
  readonly tasks?: TaskManagerOptions
}

/** An agent with predictable time and ids. */
export function agent(
  execute: Execute,
  { tasks: taskOptions, ...options }: TestAgentOptions = {},
): TestAgent {
  const clock = new ManualClock()
  const tasks = new TaskManager({ clock, generateId: sequentialIds(), ...taskOptions })
  const errors: { error: unknown; context: ErrorContext }[] = []
  const handler = createRequestHandler({
    anonymous: 'shared',
    card: { name: 'Test', url: ORIGIN },
    tasks,
    clock,
    generateId: sequentialIds('id'),
    onError: (error, context) => errors.push({ error, context }),
    ...options,
    execute,
  })
  return { handler, tasks, clock, errors }
}

/** Everybody is who his `Authorization` says. */
export function authenticate(request: Request): { id: string } | null {
  const id = request.headers.get('authorization')
  return id === null ? null : { id }
}

export function as(name: string): Init {
  return { headers: { authorization: name } }
}

let messages = 100_000

/** All have one length: some tests count bytes. */
const nextMessageId = (): string => `m-${(messages += 1)}`

/** A message of the user's. */
export function user(text: string, more: Partial<Omit<Message, 'parts'>> & { parts?: Part[] } = {}): Message {
  return { messageId: nextMessageId(), role: 'ROLE_USER', parts: [{ text }], ...more }
}

export interface Gate<T> {
  readonly opened: Promise<T>
  readonly open: (value: T) => void
}

/** A promise that the test keeps. */
export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {}
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { opened, open: (value) => open(value) }
}

export interface Init {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

interface ResultOf {
  SendMessage: SendMessageResponse
  GetTask: Task
  ListTasks: ListTasksResponse
  CancelTask: Task
  CreateTaskPushNotificationConfig: JsonObject
  GetTaskPushNotificationConfig: JsonObject
  ListTaskPushNotificationConfigs: JsonObject
  DeleteTaskPushNotificationConfig: JsonObject
  GetExtendedAgentCard: AgentCard
}
export type Unary = keyof ResultOf
export type Streaming = 'SendStreamingMessage' | 'SubscribeToTask'

const SCHEMAS = {
  SendMessage: SendMessageResponseSchema,
  GetTask: TaskSchema,
  ListTasks: ListTasksResponseSchema,
  CancelTask: TaskSchema,
  CreateTaskPushNotificationConfig: JsonObjectSchema,
  GetTaskPushNotificationConfig: JsonObjectSchema,
  ListTaskPushNotificationConfigs: JsonObjectSchema,
  DeleteTaskPushNotificationConfig: JsonObjectSchema,
  GetExtendedAgentCard: AgentCardSchema,
} as const satisfies { readonly [O in Unary]: z.ZodMiniType<ResultOf[O]> }

/** `value`, when it is what `schema` says, and has no field besides. */
export function closed<T>(schema: z.ZodMiniType<T>, value: unknown): T {
  const parsed = schema.parse(value)
  expect(value).toStrictEqual(parsed)
  return parsed
}

export interface Failure {
  /** As the binding has it: a JSON-RPC code, or an HTTP status. */
  readonly code: number
  readonly message: string
  /** Of `ErrorInfo`: the same in all bindings. */
  readonly reason: string
  readonly details: readonly JsonObject[]
}

export interface Answer<T> {
  readonly response: Response
  readonly result?: T
  readonly error?: Failure
}

export interface StreamItem {
  readonly value: StreamResponse
  readonly id?: string
  readonly event?: string
}

export interface EventStream {
  readonly response: Response
  /** The next event; comments are skipped. */
  next(): Promise<StreamItem | undefined>
  /** All that is still to come. */
  rest(): Promise<StreamItem[]>
  /** The client leaves. */
  leave(): Promise<void>
}

export interface Binding {
  readonly name: 'JSON-RPC' | 'HTTP+JSON'
  readonly request: (operation: Unary | Streaming, params: object, init?: Init) => Request
  /** What the body of an answer says. */
  readonly unwrap: (body: JsonObject) => { readonly result?: unknown; readonly error?: Failure }
}

const REQUEST_ID = 'request-1'

function failureOf({ code, message, details }: Omit<Failure, 'reason'>): Failure {
  const info = details.find((detail) => detail['@type'] === 'type.googleapis.com/google.rpc.ErrorInfo')
  return { code, message, details, reason: info?.['reason'] as string }
}

export const jsonRpc: Binding = {
  name: 'JSON-RPC',
  request: (method, params, init) => post('/', { jsonrpc: '2.0', id: REQUEST_ID, method, params }, init),
  unwrap(body) {
    expect(body['jsonrpc']).toBe('2.0')
    // What is refused before it is read has no id.
    expect([REQUEST_ID, ...('error' in body ? [null] : [])]).toContain(body['id'])
    const { error } = body as { error?: { code: number; message: string; data: JsonObject[] } }
    if (error === undefined) return { result: body['result'] }
    return { error: failureOf({ ...error, details: error.data }) }
  },
}

const PUSH = '/tasks/{taskId}/pushNotificationConfigs'
const ROUTES: Readonly<Record<Unary | Streaming, string>> = {
  SendMessage: 'POST /message:send',
  SendStreamingMessage: 'POST /message:stream',
  GetTask: 'GET /tasks/{id}',
  ListTasks: 'GET /tasks',
  CancelTask: 'POST /tasks/{id}:cancel',
  SubscribeToTask: 'POST /tasks/{id}:subscribe',
  CreateTaskPushNotificationConfig: `POST ${PUSH}`,
  GetTaskPushNotificationConfig: `GET ${PUSH}/{id}`,
  ListTaskPushNotificationConfigs: `GET ${PUSH}`,
  DeleteTaskPushNotificationConfig: `DELETE ${PUSH}/{id}`,
  GetExtendedAgentCard: 'GET /extendedAgentCard',
}

export const httpJson: Binding = {
  name: 'HTTP+JSON',
  request(operation, params, init) {
    const [verb = '', template = ''] = ROUTES[operation].split(' ')
    const rest: Record<string, unknown> = { ...params }
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const { [name]: value } = rest
      Reflect.deleteProperty(rest, name)
      return encodeURIComponent(String(value))
    })
    if (verb === 'POST') return post(path, rest, init)
    const query = new URLSearchParams(
      Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, String(value)])),
    )
    return new Request(`${ORIGIN}${path}?${query.toString()}`, { method: verb, ...init })
  },
  unwrap(body) {
    const { error } = body as { error?: { code: number; message: string; details: JsonObject[] } }
    return error === undefined ? { result: body } : { error: failureOf(error) }
  },
}

export const BINDINGS: readonly Binding[] = [jsonRpc, httpJson]

export function post(path: string, body: unknown, { headers, signal }: Init = {}): Request {
  return new Request(`${ORIGIN}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  })
}

export function get(path: string, init: Init = {}): Request {
  return new Request(`${ORIGIN}${path}`, init)
}

/** Asks for one answer. */
export async function call<O extends Unary>(
  { name, request, unwrap }: Binding,
  { handler }: Reachable,
  operation: O,
  params: object,
  init?: Init,
): Promise<Answer<ResultOf[O]>> {
  const response = await handler.fetch(request(operation, params, init))
  const { result, error } = unwrap((await response.json()) as JsonObject)
  if (error !== undefined) return { response, error }
  expect([name, response.status]).toEqual([name, 200])
  // The table has the schema of the operation's result in each row.
  return { response, result: closed(SCHEMAS[operation] as unknown as z.ZodMiniType<ResultOf[O]>, result) }
}

/** Asks for a stream. */
export async function open(
  binding: Binding,
  { handler }: Reachable,
  operation: Streaming,
  params: object,
  init?: Init,
): Promise<EventStream> {
  const response = await handler.fetch(binding.request(operation, params, init))
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  return eventsOf(binding, response)
}

/** Asks for a stream that is refused. */
export async function refused(
  { request, unwrap }: Binding,
  { handler }: Reachable,
  operation: Unary | Streaming,
  params: object,
  init?: Init,
): Promise<Failure> {
  const response = await handler.fetch(request(operation, params, init))
  expect(response.headers.get('content-type')).toMatch(/json$/)
  const { error } = unwrap((await response.json()) as JsonObject)
  if (error === undefined) throw new Error(`${operation} was not refused`)
  return error
}

function eventsOf(binding: Binding, response: Response): EventStream {
  const reader = new SseReader(response)
  const stream: EventStream = {
    response,
    async next() {
      for (;;) {
        const event = await reader.next()
        if (event === undefined) return undefined
        if ('comment' in event) continue
        const { result, error } = binding.unwrap(JSON.parse(event.data) as JsonObject)
        if (error !== undefined) throw Object.assign(new Error(error.message), { failure: error })
        const { id, event: type } = event
        return {
          value: closed(StreamResponseSchema, result),
          ...(id !== undefined && { id }),
          ...(type !== undefined && { event: type }),
        }
      }
    },
    async rest() {
      const items: StreamItem[] = []
      for (let item = await stream.next(); item !== undefined; item = await stream.next()) items.push(item)
      return items
    },
    leave: () => reader.leave(),
  }
  return stream
}

export type SseEvent =
  { readonly comment: string } | { readonly data: string; readonly id?: string; readonly event?: string }

/** Server-sent events as they come, comments included. */
export class SseReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  #text = ''

  constructor({ body }: Response) {
    if (body === null) throw new Error('The response has no body')
    this.#reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>
  }

  async next(): Promise<SseEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n')
      if (end !== -1) {
        const block = this.#text.slice(0, end)
        this.#text = this.#text.slice(end + 2)
        return toEvent(block)
      }
      const { done, value } = await this.#reader.read()
      if (done) return undefined
      this.#text += this.#decoder.decode(value, { stream: true })
    }
  }

  async leave(): Promise<void> {
    await this.#reader.cancel()
  }
}

function toEvent(block: string): SseEvent {
  const fields: Record<string, string> = {}
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
    if (name === '') return { comment: value }
    fields[name] = name in fields ? `${fields[name] ?? ''}\n${value}` : value
  }
  const { data = '', id, event } = fields
  return { data, ...(id !== undefined && { id }), ...(event !== undefined && { event }) }
}

/** What an event of a stream is about: `task`, `working`, `artifact:a`, … */
export function nameOf({ value }: StreamItem): string {
  const { task, message, statusUpdate, artifactUpdate } = value
  if (task !== undefined) return 'task'
  if (message !== undefined) return 'message'
  if (statusUpdate !== undefined) return stateName(statusUpdate.status.state)
  return `artifact:${artifactUpdate.artifact.parts.map(({ text }) => text ?? '').join('')}`
}

/** `TASK_STATE_INPUT_REQUIRED` → `input-required`. */
export function stateName(state: string): string {
  return state.replace('TASK_STATE_', '').toLowerCase().replace('_', '-')
}

/** The text of a task's artifacts. */
export function textsOf({ artifacts = [] }: Task): string[] {
  return artifacts.map(({ parts }) => parts.map(({ text }) => text ?? '').join(''))
}

/** The task in an answer. */
export function taskOf({ result, error }: Answer<SendMessageResponse>): Task {
  const task = result?.task
  if (task === undefined) throw new Error(`There is no task: ${JSON.stringify(error ?? result)}`)
  return task
}
