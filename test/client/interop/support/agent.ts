/** The common part of all peers: a card, a port on the loopback, and recorded requests. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AError, type ErrorCode } from 'a2a-tasks'
import { parseAgentCard } from 'a2a-tasks/agent-card'
import type { AgentCard } from 'a2a-tasks/schemas'
import type { Express } from 'express'
import express from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { A2AClient, type ClientOptions } from '../../../../src/client/index.js'
import type { Agent } from '../agents.js'
import { GAPS, LOSSES, type Feature, type PeerName } from '../gaps.js'

export type Version = '1.0' | '0.3'
export type Binding = 'JSONRPC' | 'HTTP+JSON'

export interface ServeOptions {
  readonly agent: Agent
  readonly streaming?: boolean
  readonly push?: boolean
  /** The card says that there is an extended card; there is one if this is its description. */
  readonly extended?: true | string
  readonly required?: string
  /** Extensions that the card lists. */
  readonly extensions?: readonly string[]
  readonly tenant?: string
  /** Who does not have this token is answered with 401. */
  readonly token?: string
  readonly checkModes?: boolean
}

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

export interface Served {
  /** As the agent serves it. */
  readonly card: unknown
  readonly url: string
  readonly fetch?: ClientOptions['fetch']
  readonly seen: readonly Seen[]
}

export interface Peer {
  readonly name: PeerName
  readonly version: Version
  readonly binding: Binding
  readonly serve: (options: ServeOptions) => Promise<Served>
}

export const MIME = 'text/plain'

/** The card in the form of A2A 1.0; the modern SDK makes that of 0.3 of it. */
export function cardOf(
  options: ServeOptions,
  url: string,
  protocolBinding: Binding,
  protocolVersion: Version,
): AgentCard {
  const { streaming = true, push = false, extended, required, tenant } = options
  const listed = [...(options.extensions ?? []), ...(required === undefined ? [] : [required])]
  return {
    ...{ name: 'Peer', description: 'Answers', version: '1.0.0', skills: [] },
    ...{ defaultInputModes: [MIME], defaultOutputModes: [MIME] },
    supportedInterfaces: [{ url, protocolBinding, protocolVersion, ...(tenant !== undefined && { tenant }) }],
    capabilities: {
      streaming,
      pushNotifications: push,
      extendedAgentCard: extended !== undefined,
      extensions: listed.map((uri) => ({ uri, description: '', required: uri === required })),
    },
  }
}

/** An express app on its own port until the test is over. Its card is fetched as a client would. */
export async function listen(
  { token }: ServeOptions,
  build: (app: Express, origin: string) => void,
): Promise<Served> {
  const app = express()
  const seen: Seen[] = []
  app.use((request, response, next) => {
    const { method, path } = request
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    )
    if (!path.includes('.well-known')) seen.push({ method, path, headers })
    const isKnown = token === undefined || headers['authorization'] === `Bearer ${token}`
    if (isKnown || path.includes('.well-known')) next()
    else response.status(401).set('www-authenticate', 'Bearer').send()
  })
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  build(app, url)
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  const answer = await fetch(`${url}/.well-known/agent-card.json`)
  return { card: await answer.json(), url, seen }
}

/** A client of this peer and no other way to it. */
export function clientOf(peer: Peer, served: Served, options: ClientOptions = {}): A2AClient {
  const { version, binding } = peer
  return new A2AClient({
    card: served.card,
    ...(served.fetch !== undefined && { fetch: served.fetch }),
    ...{ protocolVersions: [version], protocolBindings: [binding], retry: { baseDelayMs: 1, maxDelayMs: 2 } },
    ...options,
  })
}

/** The agent, as a card would have it that says more than is so: what the client checks, the agent has to. */
export function pretend(served: Served, capabilities: AgentCard['capabilities']): Served {
  const card = parseAgentCard(served.card)
  return { ...served, card: { ...card, capabilities: { ...card.capabilities, ...capabilities } } }
}

export async function connect(
  peer: Peer,
  options: ServeOptions,
  more: ClientOptions = {},
): Promise<A2AClient> {
  return clientOf(peer, await peer.serve(options), more)
}

export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

/** The error that `run` is rejected with, of ours. */
export async function fault(run: () => unknown): Promise<A2AError> {
  try {
    await run()
  } catch (error) {
    if (A2AError.is(error)) return error
    throw error
  }
  throw new Error('Nothing was thrown')
}

async function codeOf(run: () => unknown): Promise<ErrorCode> {
  return (await fault(run)).code
}

/** The SDKs log what they answer. */
export function quiet(): void {
  for (const method of ['error', 'warn', 'info'] as const) {
    const spy = vi.spyOn(console, method).mockImplementation(() => undefined)
    onTestFinished(() => {
      spy.mockRestore()
    })
  }
}

/**
 * A test of one row of the matrix; where the peer cannot do it, of what the client receives instead. `run` gets
 * whether the peer does it in part only.
 */
export function feature({ name }: Peer, row: Feature, run: (isPartial: boolean) => Promise<void>): void {
  const gap = GAPS[row][name]
  const loss = LOSSES[row]?.[name]
  const note = gap === undefined ? loss && ` — in part: ${loss}` : ` — no: ${gap.reason}`
  test(`${row}${note ?? ''}`, async () => {
    quiet()
    if (gap === undefined) await run(loss !== undefined)
    else expect(await codeOf(() => run(false))).toBe(gap.code)
  })
}
