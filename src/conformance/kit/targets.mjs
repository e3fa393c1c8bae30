/**
 * One interface of an agent, with operations that are named as in A2A 1.0 and take parameters of 1.0. The requests are
 * those of the binding and the version of the interface.
 */

import { randomUUID } from 'node:crypto'
import { ask, askForStream } from './http.mjs'
import { resultOf } from './answers.mjs'
import { toLegacyParams, toProtoParams } from './legacy.mjs'
import { routeOf } from './routes.mjs'
import { Skipped } from './abilities.mjs'

const LEGACY_METHODS = {
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
  /** @param options `headers` are sent with every request; `webhook` is the URL of push notification configurations. */
  constructor(agentInterface, { headers = {}, webhook } = {}) {
    const { name, binding, version, url, tenant } = agentInterface
    Object.assign(this, { name, binding, version, url, tenant, webhook })
    this.isJsonRpc = binding === 'JSONRPC'
    this.isModern = version === '1.0'
    this.headers = { 'A2A-Version': version, ...headers }
    /** What the agent does not do when a message says so: see `abilities.mjs`. */
    this.lacks = new Set()
  }

  /** Ends the check unless the agent has the ability. */
  needs(ability) {
    if (this.lacks.has(ability)) throw new Skipped(ability)
  }

  /** A message of the user in the spelling of A2A 1.0. */
  message(text, fields = {}) {
    this.needs(text.split(' ', 1)[0])
    return { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...fields }
  }

  /** Sends a text. `fields` belong to the message, `configuration` to the request. */
  async send(text, { configuration, ...fields } = {}) {
    return await this.call('SendMessage', {
      message: this.message(text, fields),
      ...(configuration && { configuration }),
    })
  }

  async stream(text, fields = {}) {
    return await this.open('SendStreamingMessage', { message: this.message(text, fields) })
  }

  /** Calls an operation. The answer has its `result`, or its `error` with `code`, `message` and `reason`. */
  async call(operation, params = {}, { headers = {} } = {}) {
    const answer = await ask(...this.requestOf(operation, params, headers))
    return { ...answer, ...resultOf(this, answer) }
  }

  /** Calls an operation whose answer is a stream. An answer that is none is read as by {@link Target.call}. */
  async open(operation, params = {}, { headers = {} } = {}) {
    const stream = await askForStream(...this.requestOf(operation, params, headers))
    return stream.events === undefined ? { ...stream, ...resultOf(this, stream) } : stream
  }

  /** The URL and the `init` of the request for an operation. */
  requestOf(operation, given, headers = {}) {
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
  async post(body, { headers = {}, path = this.isJsonRpc ? '' : this.sendPath } = {}) {
    const allHeaders = { 'Content-Type': 'application/json', ...this.headers, ...headers }
    const answer = await ask(`${this.url}${path}`, { method: 'POST', headers: allHeaders, body })
    return { ...answer, ...resultOf(this, answer) }
  }

  /** The path that accepts messages, after the URL of the interface. */
  get sendPath() {
    if (this.isJsonRpc) return ''
    return this.isModern ? '/message:send' : '/v1/message:send'
  }

  /** The body of a request that sends `text`, as {@link Target.post} takes it. */
  bodyOf(text) {
    return this.requestOf('SendMessage', { message: this.message(text) })[1].body
  }
}
