/**
 * One interface of an agent, with operations that are named as in A2A 1.0 and take parameters of 1.0. The requests are
 * those of the binding and the version of the interface.
 */

import { randomUUID } from 'node:crypto'
import type { AgentInterface } from './card.js'
import { ask, askForStream, type Request } from './http.js'
import { resultOf, type Called, type CalledStream } from './answers.js'
import { toLegacyParams, toProtoParams } from './legacy.js'
import { routeOf, type Operation } from './routes.js'
import type { Configuration, Params, SentMessage } from './params.js'
import { Skipped } from './skipped.js'

type Headers = Readonly<Record<string, string>>

interface SendOptions extends SentMessage {
  readonly configuration?: Configuration
}

interface TargetOptions {
  readonly headers?: Headers | undefined
  readonly webhook: string
}

const LEGACY_METHODS: Partial<Record<Operation, string>> = {
  SendMessage: 'message/send',
  SendStreamingMessage: 'message/stream',
  GetTask: 'tasks/get',
  CancelTask: 'tasks/cancel',
  SubscribeToTask: 'tasks/resubscribe',
  CreateTaskPushNotificationConfig: 'tasks/pushNotificationConfig/set',
  GetTaskPushNotificationConfig: 'tasks/pushNotificationConfig/get',
  ListTaskPushNotificationConfigs: 'tasks/pushNotificationConfig/list',
  DeleteTaskPushNotificationConfig: 'tasks/pushNotificationConfig/delete',
  GetExtendedAgentCard: 'agent/getAuthenticatedExtendedCard',
}

export class Target {
  readonly name: string
  readonly binding: string
  readonly version: string
  readonly url: string
  readonly tenant: string | undefined
  readonly webhook: string
  readonly isJsonRpc: boolean
  readonly isModern: boolean
  readonly headers: Headers
  /** What the agent does not do when a message says so: see `abilities.ts`. */
  lacks: ReadonlySet<string> = new Set()

  /** @param options `headers` are sent with every request; `webhook` is the URL of push notification configurations. */
  constructor({ name, binding, version, url, tenant }: AgentInterface, { headers, webhook }: TargetOptions) {
    this.name = name
    this.binding = binding
    this.version = version
    this.url = url
    this.tenant = tenant
    this.webhook = webhook
    this.isJsonRpc = binding === 'JSONRPC'
    this.isModern = version === '1.0'
    this.headers = { 'A2A-Version': version, ...headers }
  }

  /** Ends the check unless the agent has the ability. */
  needs(ability: string): void {
    if (this.lacks.has(ability)) throw new Skipped(ability)
  }

  /** A message of the user in the spelling of A2A 1.0. */
  message(text: string, fields: SentMessage = {}): SentMessage {
    this.needs(text.split(' ', 1)[0] ?? '')
    return { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...fields }
  }

  /** Sends a text. `fields` belong to the message, `configuration` to the request. */
  async send(text: string, { configuration, ...fields }: SendOptions = {}): Promise<Called> {
    return await this.call('SendMessage', {
      message: this.message(text, fields),
      ...(configuration && { configuration }),
    })
  }

  async stream(text: string, fields: SentMessage = {}): Promise<CalledStream> {
    return await this.open('SendStreamingMessage', { message: this.message(text, fields) })
  }

  /** Calls an operation. The answer has its `result`, or its `error` with `code`, `message` and `reason`. */
  async call(
    operation: Operation,
    params: Params = {},
    { headers = {} }: { readonly headers?: Headers } = {},
  ): Promise<Called> {
    const answer = await ask(...this.requestOf(operation, params, headers))
    return { ...answer, ...resultOf(this, answer) }
  }

  /** Calls an operation whose answer is a stream. An answer that is none is read as by {@link Target.call}. */
  async open(operation: Operation, params: Params = {}): Promise<CalledStream> {
    const stream = await askForStream(...this.requestOf(operation, params))
    return stream.events === undefined ? { ...stream, ...resultOf(this, stream) } : stream
  }

  /** The URL and the `init` of the request for an operation. */
  requestOf(operation: Operation, given: Params, headers: Headers = {}): [url: string, init: Request] {
    const params = this.tenant === undefined ? given : { tenant: this.tenant, ...given }
    const sentHeaders = { ...this.headers, ...headers }
    if (this.isJsonRpc) {
      const method = this.isModern ? operation : LEGACY_METHODS[operation]
      const body = {
        jsonrpc: '2.0',
        id: 'check',
        method,
        params: this.isModern ? params : toLegacyParams(operation, params),
      }
      return [
        this.url,
        { method: 'POST', headers: { 'Content-Type': 'application/json', ...sentHeaders }, body },
      ]
    }
    const { method, path, query, body } = routeOf(operation, params, this.version)
    const type = this.isModern ? 'application/a2a+json' : 'application/json'
    const written = body === undefined || this.isModern ? body : toProtoParams(operation, body)
    return [
      `${this.url}${path}${query}`,
      { method, headers: { ...(written && { 'Content-Type': type }), ...sentHeaders }, body: written },
    ]
  }

  /** Sends a body as it stands to the endpoint of JSON-RPC, or to the route that accepts messages. */
  async post(body: unknown, { headers = {} }: { readonly headers?: Headers } = {}): Promise<Called> {
    const allHeaders = { 'Content-Type': 'application/json', ...this.headers, ...headers }
    const answer = await ask(`${this.url}${this.sendPath}`, { method: 'POST', headers: allHeaders, body })
    return { ...answer, ...resultOf(this, answer) }
  }

  /** The path that accepts messages, after the URL of the interface. */
  get sendPath(): string {
    if (this.isJsonRpc) return ''
    return this.isModern ? '/message:send' : '/v1/message:send'
  }

  /** The body of a request that sends `text`, as {@link Target.post} takes it. */
  bodyOf(text: string): unknown {
    return this.requestOf('SendMessage', { message: this.message(text) })[1].body
  }
}
