import { Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk'
import * as modern from '@a2a-js/sdk/client'
import { legacyPushNotificationToV1StreamResponse } from '@a2a-js/sdk/compat/v0_3'
import * as errors from '@a2a-js/sdk/errors'
import * as legacy from 'a2a-sdk-v0-3/client'
import type * as wire from 'a2a-tasks/schemas'

// The official clients of both lines behind one interface. All that they answer is shown as JSON of A2A 1.0, which
// the official SDK 1.3.0 makes of it: nothing of this library is between a client and a test.

export type Binding = 'JSONRPC' | 'HTTP+JSON'

export interface Line {
  readonly sdk: '1.3.0' | '0.3.14'
  readonly speaks: '1.0' | '0.3'
  readonly binding: Binding
}

/** The third is SDK 1.3.0 with the 0.3 that it has built in. */
export const LINES: readonly Line[] = (['JSONRPC', 'HTTP+JSON'] as const).flatMap((binding) => [
  { sdk: '1.3.0', speaks: '1.0', binding },
  { sdk: '0.3.14', speaks: '0.3', binding },
  { sdk: '1.3.0', speaks: '0.3', binding },
])

export const MODERN_LINES: readonly Line[] = LINES.filter(({ speaks }) => speaks === '1.0')

export interface SendOptions {
  readonly returnImmediately?: boolean
  readonly historyLength?: number
  readonly extensions?: readonly string[]
  readonly signal?: AbortSignal
}

export type Said = { readonly [K in keyof wire.Message]?: wire.Message[K] | undefined } & Pick<
  wire.Message,
  'parts'
>

export interface Peer {
  /** What of the SDK says how it would have said it. */
  readonly protocol: string
  send(said: Said, options?: SendOptions): Promise<wire.SendMessageResponse>
  stream(said: Said, options?: SendOptions): AsyncGenerator<wire.StreamResponse>
  subscribe(id: string): AsyncGenerator<wire.StreamResponse>
  get(id: string, historyLength?: number): Promise<wire.Task>
  cancel(id: string): Promise<wire.Task>
  extendedCard(): Promise<unknown>
  /** The four operations about push notifications: past the SDK's own look at the card. */
  readonly push: Readonly<Record<'create' | 'get' | 'list' | 'delete', () => Promise<unknown>>>
}

let messages = 0

export function textOf(parts: readonly wire.Part[] | undefined): string {
  return (parts ?? []).map((part) => part.text ?? '').join('')
}

export function say(text: string, more: Partial<Said> = {}): Said {
  return { parts: [{ text }], ...more }
}

function complete(said: Said): wire.Message {
  messages += 1
  const given = Object.entries(said).filter(([, value]) => value !== undefined)
  return { messageId: `message-${messages}`, role: 'ROLE_USER', ...Object.fromEntries(given) } as wire.Message
}

/** The task, where there must be one. */
export function taskOf(sent: wire.SendMessageResponse | wire.StreamResponse | undefined): wire.Task {
  if (sent?.task === undefined) {
    throw new Error(`There is no task: ${JSON.stringify(sent)}`)
  }
  return sent.task
}

/** A client, by way of the card that the agent serves. */
export function connect(line: Line, url: string, fetchImpl: typeof fetch = fetch): Promise<Peer> {
  return line.sdk === '0.3.14' ? connectLegacy(line, url, fetchImpl) : connectModern(line, url, fetchImpl)
}

const PUSH_URL = 'https://client.example/hook'

/** `createFromUrl` resolves a relative path against this: with a slash, below an agent's own path. */
function baseOf(url: string): string {
  return `${url}/`
}

export function modernFactory(
  binding: Binding,
  options: Readonly<modern.AgentCardResolverOptions> = {},
): modern.ClientFactory {
  const transports = [new modern.JsonRpcTransportFactory(options), new modern.RestTransportFactory(options)]
  const cardResolver = new modern.DefaultAgentCardResolver(options)
  return new modern.ClientFactory({ transports, cardResolver, preferredTransports: [binding] })
}

export async function modernClient(
  { binding, speaks }: Pick<Line, 'binding' | 'speaks'>,
  url: string,
  fetchImpl: typeof fetch,
): Promise<modern.Client> {
  const factory = modernFactory(binding, { fetchImpl, legacyCompat: { enabled: true } })
  if (speaks === '1.0') return factory.createFromUrl(baseOf(url))
  const headers = { 'A2A-Version': '0.3' }
  const card = await fetchImpl(new URL('.well-known/agent-card.json', baseOf(url)), { headers })
  return factory.createFromAgentCard((await card.json()) as never)
}

async function connectModern(line: Line, url: string, fetchImpl: typeof fetch): Promise<Peer> {
  const client = await modernClient(line, url, fetchImpl)
  const { transport } = client
  const toRequest = (said: Said, { returnImmediately, historyLength }: SendOptions): SendMessageRequest =>
    SendMessageRequest.fromJSON({
      message: complete(said),
      configuration: { returnImmediately, historyLength },
    })
  async function* shown(stream: AsyncGenerator<StreamResponse>): AsyncGenerator<wire.StreamResponse> {
    for await (const event of stream) yield StreamResponse.toJSON(event) as wire.StreamResponse
  }
  const config = { tenant: '', taskId: 'any', id: 'any' }
  return {
    protocol: `${transport.protocolName} ${transport.protocolVersion}`,
    async send(said, options = {}) {
      const sent = await client.sendMessage(toRequest(said, options), parametersOf(modern, options))
      if ('messageId' in sent) return { message: Message.toJSON(sent) as wire.Message }
      return { task: Task.toJSON(sent) as wire.Task }
    },
    stream: (said, options = {}) =>
      shown(client.sendMessageStream(toRequest(said, options), parametersOf(modern, options))),
    subscribe: (id) => shown(client.resubscribeTask({ tenant: '', id })),
    get: async (id, historyLength) =>
      Task.toJSON(await client.getTask({ tenant: '', id, historyLength })) as wire.Task,
    cancel: async (id) =>
      Task.toJSON(await client.cancelTask({ tenant: '', id, metadata: undefined })) as wire.Task,
    extendedCard: () => client.getAgentCard(),
    push: {
      create: () =>
        transport.createTaskPushNotificationConfig({
          ...config,
          url: PUSH_URL,
          token: '',
          authentication: undefined,
        }),
      get: () => transport.getTaskPushNotificationConfig(config),
      list: () =>
        transport.listTaskPushNotificationConfig({ tenant: '', taskId: 'any', pageSize: 1, pageToken: '' }),
      delete: () => transport.deleteTaskPushNotificationConfig(config),
    },
  }
}

export function legacyFactory(binding: Binding, fetchImpl: typeof fetch): legacy.ClientFactory {
  const options: Readonly<legacy.AgentCardResolverOptions> = { fetchImpl }
  return new legacy.ClientFactory({
    transports: [new legacy.JsonRpcTransportFactory(options), new legacy.RestTransportFactory(options)],
    cardResolver: new legacy.DefaultAgentCardResolver(options),
    preferredTransports: [binding],
  })
}

async function connectLegacy({ binding }: Line, url: string, fetchImpl: typeof fetch): Promise<Peer> {
  const client = await legacyFactory(binding, fetchImpl).createFromUrl(baseOf(url))
  const { transport } = client
  const toParams = (said: Said, { returnImmediately, historyLength }: SendOptions): LegacyParams => ({
    message: toLegacyMessage(complete(said)),
    configuration: {
      ...(returnImmediately !== undefined && { blocking: !returnImmediately }),
      ...(historyLength !== undefined && { historyLength }),
    },
  })
  async function* shown(stream: AsyncGenerator): AsyncGenerator<wire.StreamResponse> {
    for await (const event of stream) yield toModern(event)
  }
  return {
    protocol: `${binding} 0.3`,
    send: async (said, options = {}) =>
      toModern(await client.sendMessage(toParams(said, options), parametersOf(legacy, options))),
    stream: (said, options = {}) =>
      shown(client.sendMessageStream(toParams(said, options), parametersOf(legacy, options))),
    subscribe: (id) => shown(client.resubscribeTask({ id })),
    get: async (id, historyLength) =>
      taskOf(toModern(await client.getTask({ id, ...(historyLength !== undefined && { historyLength }) }))),
    cancel: async (id) => taskOf(toModern(await client.cancelTask({ id }))),
    extendedCard: () => client.getAgentCard(),
    push: {
      create: () =>
        transport.setTaskPushNotificationConfig({
          taskId: 'any',
          pushNotificationConfig: { id: 'any', url: PUSH_URL },
        }),
      get: () => transport.getTaskPushNotificationConfig({ id: 'any', pushNotificationConfigId: 'any' }),
      list: () => transport.listTaskPushNotificationConfig({ id: 'any' }),
      delete: () =>
        transport.deleteTaskPushNotificationConfig({ id: 'any', pushNotificationConfigId: 'any' }),
    },
  }
}

/** Extensions go in a header, through what each SDK has for it. */
function parametersOf(
  { ServiceParameters, withA2AExtensions }: Pick<typeof modern, 'ServiceParameters' | 'withA2AExtensions'>,
  { extensions, signal }: SendOptions,
): { serviceParameters?: Record<string, string>; signal?: AbortSignal } {
  return {
    ...(extensions !== undefined && {
      serviceParameters: ServiceParameters.create(withA2AExtensions(...extensions)),
    }),
    ...(signal !== undefined && { signal }),
  }
}

function toModern(event: unknown): wire.StreamResponse {
  return StreamResponse.toJSON(legacyPushNotificationToV1StreamResponse(event)) as wire.StreamResponse
}

type LegacyParams = Parameters<legacy.Client['sendMessage']>[0]
type LegacyMessage = LegacyParams['message']

function toLegacyMessage({ role, parts, ...rest }: wire.Message): LegacyMessage {
  return {
    kind: 'message',
    role: role === 'ROLE_USER' ? 'user' : 'agent',
    parts: parts.map(toLegacyPart),
    ...rest,
  }
}

function toLegacyPart(part: wire.Part): LegacyMessage['parts'][number] {
  const { metadata, filename: name, mediaType: mimeType } = part
  const kept = metadata === undefined ? {} : { metadata }
  const file = { ...(name !== undefined && { name }), ...(mimeType !== undefined && { mimeType }) }
  if (part.text !== undefined) return { kind: 'text', text: part.text, ...kept }
  if (part.raw !== undefined) return { kind: 'file', file: { bytes: part.raw, ...file }, ...kept }
  if (part.url !== undefined) return { kind: 'file', file: { uri: part.url, ...file }, ...kept }
  return { kind: 'data', data: part.data as Record<string, unknown>, ...kept }
}

const CLASSES = [
  ...['TaskNotFoundError', 'TaskNotCancelableError', 'PushNotificationNotSupportedError'],
  ...['UnsupportedOperationError', 'ContentTypeNotSupportedError', 'InvalidAgentResponseError'],
  ...['ExtendedAgentCardNotConfiguredError', 'AuthenticatedExtendedCardNotConfiguredError'],
  ...['ExtensionSupportRequiredError', 'VersionNotSupportedError', 'RequestMalformedError'],
]

/** The class that an SDK has for this error; where it has none, the code that it tells. */
export function faultOf(error: unknown): string {
  const chain: Error[] = []
  for (let each = error; each instanceof Error; each = each.cause) chain.push(each)
  const modules: Readonly<Record<string, unknown>>[] = [errors, legacy]
  const name = CLASSES.find((known) =>
    modules.some(
      ({ [known]: type }) => typeof type === 'function' && chain.some((each) => each instanceof type),
    ),
  )
  if (name !== undefined) return name
  const [code] = chain.flatMap((each) => codeOf(each) ?? [])
  return code === undefined ? `no fault of the protocol: ${String(error)}` : `code ${code}`
}

function codeOf(error: Error & { errorResponse?: unknown }): number | undefined {
  const { errorResponse } = error
  if (typeof errorResponse === 'object' && errorResponse !== null) {
    return (errorResponse as { error: { code: number } }).error.code
  }
  const [, code] = /\(Code: (-\d+)\)/.exec(error.message) ?? []
  return code === undefined ? undefined : Number(code)
}
