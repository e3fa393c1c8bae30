/**
 * A gateway whose agents are functions of the test, as an agent on its own port.
 *
 * @module
 */
import { A2AClient } from 'a2a-tasks/client'
import type { JsonObject } from 'a2a-tasks/schemas'
import type { Principal } from 'a2a-tasks/server'
import { onTestFinished } from 'vitest'
import { EVERY } from '../../compat/support/agent.js'
import { A2AGateway } from '../../../src/gateway/gateway.js'
import type { A2AGatewayOptions } from '../../../src/gateway/options.js'
import { custom, type CustomHandlers, type CustomRun } from '../../../src/gateway/providers/custom.js'
import {
  gatewayRequestHandler,
  type GatewayRequestHandlerOptions,
} from '../../../src/gateway/request-handler.js'
import type { AgentInput } from '../../../src/gateway/registry/agent.js'
import { serve, type Served } from '../../server/interop/support/agent.js'
import { SseReader } from '../../server/spec/support/agent.js'

/** What an agent does, and what of its registration is not `{ id, provider, capabilities: [id], endpoint }`. */
export type TestAgent = CustomRun | (CustomHandlers & { readonly agent?: Partial<AgentInput> })

export interface TestGateway {
  readonly gateway: A2AGateway
  /** What the gateway's `onError` received. */
  readonly errors: unknown[]
}

export type Options = Omit<Partial<A2AGatewayOptions>, 'providers' | 'onError'>

/** A gateway of these agents, by their ids. Each has its own provider. */
export function gatewayOf(agents: Readonly<Record<string, TestAgent>>, options: Options = {}): TestGateway {
  const errors: unknown[] = []
  const providers = Object.entries(agents).map(([id, given]) => [id, custom(handlersOf(given))] as const)
  const gateway = new A2AGateway({
    ...options,
    providers: Object.fromEntries(providers),
    onError: (error) => errors.push(error),
  })
  for (const [id, given] of Object.entries(agents)) {
    const more = typeof given === 'function' ? {} : given.agent
    const endpoint = { url: 'https://service.test' }
    gateway.registry.register({ id, provider: id, capabilities: [id], endpoint, ...more })
  }
  onTestFinished(() => gateway.close({ graceMs: 1 }))
  return { gateway, errors }
}

function handlersOf(given: TestAgent): CustomHandlers {
  if (typeof given === 'function') return { run: given }
  const { run, getTask, cancelTask, healthCheck } = given
  return { run, getTask, cancelTask, healthCheck }
}

export interface ServeOptions extends GatewayRequestHandlerOptions {
  readonly authenticate?: (request: Request) => Principal | null
  readonly runTimeoutMs?: number
}

/** The gateway, served until the test is over. */
export async function serveGateway(gateway: A2AGateway, options: ServeOptions = {}): Promise<Served> {
  const { authenticate, ...others } = options
  return await serve({
    execute: gatewayRequestHandler(gateway, others),
    tasks: gateway.tasks,
    dialects: EVERY,
    ...(authenticate && { authenticate }),
  })
}

export interface Scene extends TestGateway {
  readonly url: string
  readonly client: A2AClient
}

/** The agents behind a gateway, and a client of A2A 1.0 that has its card. */
export async function scene(
  agents: Readonly<Record<string, TestAgent>>,
  options: Options = {},
  handling: ServeOptions = {},
): Promise<Scene> {
  const made = gatewayOf(agents, options)
  const { url } = await serveGateway(made.gateway, handling)
  return { ...made, url, client: await A2AClient.connect(url) }
}

export interface RpcAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: JsonObject
}

/** One request of JSON-RPC, by hand. */
export async function rpc(
  url: string,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<RpcAnswer> {
  const response = await post(url, method, params, headers)
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as JsonObject,
  }
}

/** The events of a stream that a method of JSON-RPC is answered with. */
export async function* rpcStream(url: string, method: string, params: object): AsyncGenerator<JsonObject> {
  const reader = new SseReader(await post(url, method, params, {}))
  for (let event = await reader.next(); event !== undefined; event = await reader.next()) {
    if ('data' in event) yield (JSON.parse(event.data) as { result: JsonObject }).result
  }
}

function post(
  url: string,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
}

/** A promise that rejects when `signal` aborts: what goes on until it is stopped. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
