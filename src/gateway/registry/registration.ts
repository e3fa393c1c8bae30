/**
 * Validation of registrations: checks, copies, completes and freezes an agent.
 *
 * @module
 */
import { apiKeyAuth, bearerAuth } from '../../http/auth.js'
import type { AuthenticatedRequest, Authenticator } from '../../http/authenticator.js'
import { webUrl } from '../../http/url.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import { freezeDeep, JsonReader } from '../../core/json.js'
import type { JsonObject } from '../../core/json-types.js'
import { JsonObjectSchema } from '../../schemas/json.js'
import {
  integer,
  list,
  literal,
  nonEmptyString,
  object,
  oneOf,
  optional,
  string,
  strings,
} from '../../schemas/scalars.js'
import { check } from '../../wire/check.js'
import { isRecord } from '../../runtime/unread.js'
import { requireKnown } from '../../runtime/options.js'
import { compact } from '../../runtime/compact.js'
import { AGENT_STATUSES, type AgentInput, type EndpointAuth, type RegisteredAgent } from './agent.js'
import { OAuthCredentials, type TokenHttp } from './oauth.js'
import { providerName } from './provider-names.js'

/** Limit for all JSON of one agent together. */
const MAX_JSON = { option: 'agent', subject: 'Agent', maxBytes: 1_048_576 }
const MAX_DEPTH = 100
const TIMEOUT_MS = 300_000

const NamedSchema = object({
  name: nonEmptyString,
  description: optional(string),
  inputSchema: optional(JsonObjectSchema),
  outputSchema: optional(JsonObjectSchema),
})

/** The name alone is a capability, too. */
const CapabilitySchema: typeof NamedSchema = {
  ...NamedSchema,
  read: (given) => NamedSchema.read(typeof given === 'string' ? { name: given } : given),
}

const CAPABILITY_KEYS = ['name', 'description', 'inputSchema', 'outputSchema']

const AgentSchema = object({
  id: string,
  name: optional(string),
  description: optional(string),
  provider: nonEmptyString,
  capabilities: list(CapabilitySchema),
  endpoint: object({
    url: nonEmptyString,
    timeoutMs: optional(integer(1)),
  }),
  maxConcurrentTasks: optional(integer(1)),
  status: optional(oneOf(AGENT_STATUSES)),
  settings: optional(JsonObjectSchema),
  metadata: optional(
    object({
      version: optional(string),
      tags: optional(strings),
      extra: optional(JsonObjectSchema),
    }),
  ),
})

const BearerSchema = object({ type: literal('bearer'), token: nonEmptyString })
const ApiKeySchema = object({ type: literal('api_key'), header: nonEmptyString, key: nonEmptyString })
const OAuthSchema = object({
  type: literal('oauth2'),
  clientId: nonEmptyString,
  clientSecret: nonEmptyString,
  tokenUrl: nonEmptyString,
  scope: optional(string),
})

/**
 * Returns the agent, complete and frozen.
 *
 * @throws {TypeError} for an unknown key, by its path.
 * @throws {A2AError} `INVALID_PARAMS` with the path of the fault; `LIMIT_EXCEEDED` when its JSON is too large.
 */
export function toAgent(
  input: AgentInput,
  http: TokenHttp,
  now: string,
  where = 'AgentRegistry.register',
): RegisteredAgent {
  const read = check(AgentSchema, input)
  refuseUnknown(input, where)
  const { id, name, provider, capabilities, endpoint, metadata = {}, ...others } = read
  if (id.trim() === '') throw invalidParams('id', 'must not be empty', undefined, 'Agent ID cannot be empty')
  if (capabilities.length === 0) {
    const message = 'Agent must have at least one capability'
    throw invalidParams('capabilities', 'must not be empty', undefined, message)
  }
  const taker = new JsonReader(MAX_JSON, MAX_DEPTH)
  // Copied from the input: the validated value may lack nulls.
  const json: CopyJson = (value, path) => (value == null ? undefined : taker.readObject(value, path))
  const auth = toAuthenticator(input.endpoint.auth, http)
  const agent = {
    id,
    name: name ?? id,
    description: others.description ?? '',
    provider: providerName(provider),
    capabilities: input.capabilities.map((given, at) => toCapability(given, `capabilities[${at}]`, json)),
    // Frozen separately, since `freezeDeep` would freeze the user's authenticator.
    endpoint: Object.freeze({
      url: toUrl(endpoint.url, 'endpoint.url'),
      timeoutMs: endpoint.timeoutMs ?? TIMEOUT_MS,
      ...compact({ auth }),
    }),
    ...compact({ maxConcurrentTasks: others.maxConcurrentTasks }),
    status: others.status ?? 'online',
    settings: json(input.settings, 'settings') ?? {},
    metadata: {
      version: metadata.version ?? '1.0.0',
      createdAt: now,
      lastSeenAt: now,
      tags: metadata.tags ?? [],
      extra: json(metadata.extra, 'metadata.extra') ?? {},
    },
  }
  const schemas = agent.capabilities.flatMap(({ inputSchema, outputSchema }) => [inputSchema, outputSchema])
  taker.check(agent.settings, agent.metadata.extra, ...schemas)
  return freezeDeep(agent)
}

/** The keys that a registered agent has besides, so that it can be registered again. */
const REGISTERED_KEYS = ['createdAt', 'lastSeenAt']

function refuseUnknown(input: AgentInput, where: string): void {
  const { endpoint, metadata, capabilities } = input
  requireKnown(input, Object.keys(AgentSchema.shape), where)
  requireKnown(endpoint, ['url', 'auth', 'timeoutMs'], where, 'endpoint')
  requireKnown(metadata ?? {}, ['version', 'tags', 'extra', ...REGISTERED_KEYS], where, 'metadata')
  for (const [at, capability] of capabilities.entries()) {
    if (typeof capability === 'object')
      requireKnown(capability, CAPABILITY_KEYS, where, `capabilities[${at}]`)
  }
}

type CopyJson = (value: unknown, path: string) => JsonObject | undefined

function toCapability(given: AgentInput['capabilities'][number], path: string, json: CopyJson) {
  const { name, description, inputSchema, outputSchema } =
    typeof given === 'string' ? { name: given } : { ...given }
  return {
    name,
    description: description ?? '',
    ...compact({
      inputSchema: json(inputSchema, `${path}.inputSchema`),
      outputSchema: json(outputSchema, `${path}.outputSchema`),
    }),
  }
}

function toUrl(text: string, path: string): string {
  // The URL parser ignores surrounding spaces, but a path is appended to this text.
  const url = /\s/.test(text) ? 'has blanks in it' : webUrl(text)
  if (typeof url === 'string') throw invalidParams(path, url)
  return text
}

function toAuthenticator(given: unknown, http: TokenHttp): Authenticator | undefined {
  if (given === undefined || given === null) return undefined
  if (given instanceof RedactedAuth) return given
  if (given instanceof OAuthCredentials) return new RedactedAuth(given.withDefaults(http))
  if (isAuthenticator(given)) return new RedactedAuth(given)
  return new RedactedAuth(fromConfiguration(readAuth(given), http))
}

function isAuthenticator(given: unknown): given is Authenticator {
  return typeof given === 'object' && given !== null && 'apply' in given && typeof given.apply === 'function'
}

const PATH = 'endpoint.auth'
/** Names of the fields that the authenticators' factories name otherwise. */
const FIELDS: Readonly<Record<string, string>> = { name: 'header', value: 'key' }

function readAuth(given: unknown): EndpointAuth {
  const { type } = isRecord(given) ? given : {}
  if (type === 'bearer') return check(BearerSchema, given, PATH)
  if (type === 'api_key') return check(ApiKeySchema, given, PATH)
  if (type === 'oauth2') return check(OAuthSchema, given, PATH)
  const path = isRecord(given) ? `${PATH}.type` : PATH
  throw invalidParams(path, 'must be bearer, api_key or oauth2, or an Authenticator')
}

function fromConfiguration(auth: EndpointAuth, http: TokenHttp): Authenticator {
  try {
    if (auth.type === 'bearer') return bearerAuth(auth.token)
    if (auth.type === 'api_key') return apiKeyAuth({ name: auth.header, value: auth.key, in: 'header' })
    const { clientId, clientSecret, tokenUrl, scope } = auth
    toUrl(tokenUrl, 'tokenUrl')
    return new OAuthCredentials({ clientId, clientSecret, tokenUrl, scope }, http)
  } catch (error) {
    if (!A2AError.is(error, 'INVALID_PARAMS')) throw error
    const { path, reason } = error.data
    throw invalidParams(`${PATH}.${FIELDS[path] ?? path}`, reason)
  }
}

/**
 * Returns the credentials of an agent for what sends its requests. OAuth tokens are requested by the sender too: with its
 * `fetch`, `urlGuard` and `clock`, or with those of the registry where it has none.
 */
export function authFor(
  { endpoint: { auth } }: RegisteredAgent,
  sender: TokenHttp,
): Authenticator | undefined {
  return auth instanceof RedactedAuth ? auth.of(sender) : auth
}

/** Hides an authenticator when it is printed or serialized. */
class RedactedAuth implements Authenticator {
  readonly #auth: Authenticator

  constructor(auth: Authenticator) {
    this.#auth = auth
  }

  of(sender: TokenHttp): Authenticator {
    return this.#auth instanceof OAuthCredentials ? this.#auth.of(sender) : this
  }

  apply(request: AuthenticatedRequest): void | Promise<void> {
    return this.#auth.apply(request)
  }

  renew(refused: AuthenticatedRequest): boolean | Promise<boolean> {
    return this.#auth.renew?.(refused) ?? false
  }
}
