/** Options of the wrong type or out of range: a `TypeError` or `RangeError` that names them. */
import { describe, expect, test } from 'vitest'
import { buildAgentCardForAgent } from '../../src/agent-card/index.js'
import {
  A2AClient,
  apiKeyAuth,
  clientCredentialsAuth,
  fetchAgentCard,
  RemoteAgent,
  urlGuard,
} from '../../src/client/index.js'
import { memoryStore } from '../../src/durable/index.js'
import {
  a2a,
  A2AGateway,
  AgentRegistry,
  azureAI,
  bedrock,
  gatewayRequestHandler,
  langGraph,
  pydanticAI,
  vertexAI,
} from '../../src/gateway/index.js'
import { bedrockAgentCore } from '../../src/gateway/providers/aws/agentcore.js'
import { TaskManager } from '../../src/index.js'
import { createTaskManagerHandler, LocalTaskManager } from '../../src/compat/index.js'
import { createRequestHandler } from '../../src/server/index.js'
import { fromAgentExecutor } from '../../src/migrate/index.js'
import { v1 } from '../../src/wire/index.js'
import { fakeAgent } from '../../src/testing/index.js'

/** Calls with options that their types do not allow. */
const call = (of: unknown, ...given: unknown[]): unknown => (of as (...args: unknown[]) => unknown)(...given)
const make = (of: unknown, ...given: unknown[]): unknown =>
  new (of as new (...args: unknown[]) => unknown)(...given)

const card = { name: 'Agent', url: 'https://agent.example' }
const execute = (): string => 'done'
const gateway = new A2AGateway({ providers: {} })
const key = { name: 'x-api-key', value: 'k', in: 'header' }
const login = { tokenUrl: 'https://auth.example/token', clientId: 'id', clientSecret: 'secret' }

/** Each takes options of its own, and fails for those that are passed. */
const WITH: Record<string, (options: unknown) => unknown> = {
  A2AClient: (options) => make(A2AClient, options),
  'A2AClient.connect': (options) => call(A2AClient.connect.bind(A2AClient), card.url, options),
  RemoteAgent: (options) => make(RemoteAgent, options),
  fetchAgentCard: (options) => call(fetchAgentCard, card.url, options),
  apiKeyAuth: (options) => call(apiKeyAuth, options),
  clientCredentialsAuth: (options) => call(clientCredentialsAuth, options),
  urlGuard: (options) => call(urlGuard, options),
  createRequestHandler: (options) => call(createRequestHandler, options),
  createTaskManagerHandler: (options) => call(createTaskManagerHandler, options),
  LocalTaskManager: (options) => make(LocalTaskManager, execute, options),
  v1: (options) => call(v1, options),
  memoryStore: (options) => call(memoryStore, options),
  TaskManager: (options) => make(TaskManager, options),
  buildAgentCardForAgent: (options) => call(buildAgentCardForAgent, { id: 'a', name: 'A' }, options),
  A2AGateway: (options) => make(A2AGateway, options),
  AgentRegistry: (options) => make(AgentRegistry, options),
  gatewayRequestHandler: (options) => call(gatewayRequestHandler, gateway, options),
  langGraph: (options) => call(langGraph, options),
  bedrock: (options) => call(bedrock, options),
  bedrockAgentCore: (options) => call(bedrockAgentCore, options),
  pydanticAI: (options) => call(pydanticAI, options),
  azureAI: (options) => call(azureAI, options),
  vertexAI: (options) => call(vertexAI, options),
  a2a: (options) => call(a2a, options),
  fromAgentExecutor: (options) => call(fromAgentExecutor, { execute, cancelTask: execute }, options),
  fakeAgent: (options) => call(fakeAgent, 'hi', options),
}

/** The error of a call, thrown or as a rejection. */
async function errorOf(name: string, options: unknown): Promise<unknown> {
  try {
    await WITH[name]?.(options)
  } catch (error) {
    return error
  }
  return undefined
}

describe('options that are null are a TypeError', () => {
  test.each(Object.keys(WITH).filter((name) => name !== 'TaskManager'))('of %s', async (name) => {
    const error = await errorOf(name, null)
    expect(error).toBeInstanceOf(TypeError)
    expect(String(error)).toMatch(/The options of [\w.]+ must be an object, got null/)
  })
})

const handler = { card, execute }
const sessions = { card, taskManager: new LocalTaskManager(execute) }
const CLOCK = '"clock" must have the methods now and schedule, got'
const TASKS = '"tasks" must be a TaskManager'
const remote = { name: 'analyst', cardUrl: card.url }

describe('an impossible option is named', () => {
  test.each<[string, unknown, string]>([
    ['A2AClient', 5, 'The options of A2AClient must be an object, got a number'],
    ['A2AClient', { taskManager: 5 }, '"taskManager" must be a TaskManager, got 5'],
    ['A2AClient', { agents: 5 }, '"agents" must be an object: { name: url }, got a number'],
    ['A2AClient', { agents: { a: 5 } }, '"agents.a" must be a URL or an A2AClient, got 5'],
    ['A2AClient', { clock: 5 }, `${CLOCK} 5`],
    ['A2AClient', { extensions: 'x' }, '"extensions" must be an array of strings, got "x"'],
    ['A2AClient', { protocolVersions: [1] }, '"protocolVersions" must be an array of strings, got an array'],
    ['A2AClient', { protocolBindings: {} }, '"protocolBindings" must be an array of strings, got an object'],
    ['A2AClient.connect', { extensions: 5 }, '"extensions" must be an array of strings, got 5'],
    ['A2AClient.connect', { cardCache: 5 }, '"cardCache" must be an AgentCardCache, got 5'],
    ['fetchAgentCard', { cache: 5 }, '"cache" must be an AgentCardCache or false, got 5'],
    ['fetchAgentCard', { fetch: 5 }, '"fetch" must be a function, got a number'],
    ['RemoteAgent', { name: 'analyst' }, '"cardUrl" must be a string, got undefined'],
    ['RemoteAgent', { ...remote, cardUrl: '' }, '"cardUrl" must not be empty'],
    ['RemoteAgent', { ...remote, injectHeaders: 5 }, '"injectHeaders" must be a function, got a number'],
    ['RemoteAgent', { ...remote, urlGuard: 5 }, '"urlGuard" must be a function, got a number'],
    ['RemoteAgent', { ...remote, clock: null }, `${CLOCK} null`],
    ['apiKeyAuth', { ...key, in: 'body' }, '"in" must be one of "header", "query", "cookie", got "body"'],
    [
      'clientCredentialsAuth',
      { ...login, tokenUrl: undefined },
      '"tokenUrl" must be a string, got undefined',
    ],
    ['clientCredentialsAuth', { ...login, clientSecret: '' }, '"clientSecret" must not be empty'],
    ['clientCredentialsAuth', { ...login, fetch: 5 }, '"fetch" must be a function, got a number'],
    ['clientCredentialsAuth', { ...login, clock: {} }, CLOCK],
    [
      'clientCredentialsAuth',
      { ...login, clientAuthentication: 'no' },
      '"clientAuthentication" must be one of "basic", "body", got "no"',
    ],
    ['urlGuard', { resolve: 5 }, '"resolve" must be a function, got a number'],
    ['urlGuard', { allow: [5] }, '"allow" must hold hosts and CIDR ranges, got 5'],
    ['createRequestHandler', { ...handler, tasks: null }, TASKS],
    ['createRequestHandler', { ...handler, tasks: 5 }, TASKS],
    ['createRequestHandler', { ...handler, clock: 5 }, CLOCK],
    ['createRequestHandler', { ...handler, checkInputModes: 'no' }, '"checkInputModes" must be a boolean'],
    ['createRequestHandler', { ...handler, limits: { maxRuns: 0.5 } }, '"limits.maxRuns" must be a positive'],
    [
      'createRequestHandler',
      { ...handler, limits: { maxDepth: 1.5 } },
      '"limits.maxDepth" must be a positive',
    ],
    [
      'createRequestHandler',
      { ...handler, limits: { bodyTimeoutMs: '30s' } },
      '"limits.bodyTimeoutMs" must be a number from 1 to 2147483647 ms, got "30s"',
    ],
    ['createRequestHandler', { ...handler, limits: { maxNodes: 0 } }, '"limits.maxNodes" must be a positive'],
    [
      'createTaskManagerHandler',
      { ...sessions, limits: { maxBodyBytesInFlight: 9 } },
      '"limits.maxBodyBytesInFlight" must be at least "limits.maxBodyBytes" (4194304), got 9',
    ],
    ['createRequestHandler', { ...handler, push: { allow: [5] } }, '"push.allow" must hold hosts and CIDR'],
    ['createTaskManagerHandler', { ...sessions, clock: 5 }, CLOCK],
    ['LocalTaskManager', { tasks: null }, TASKS],
    ['LocalTaskManager', { tasks: 5 }, TASKS],
    ['LocalTaskManager', { clock: 5 }, CLOCK],
    ['fakeAgent', { tasks: 5 }, TASKS],
    ['v1', { profile: 'zz' }, '"profile" must be one of "1.0.0", "1.0.1", got "zz"'],
    ['memoryStore', { now: 5 }, '"now" must be a function, got a number'],
    ['A2AGateway', { providers: {}, onError: 5 }, '"onError" must be a function, got a number'],
    ['A2AGateway', { providers: {}, extractCapabilities: 5 }, '"extractCapabilities" must be a function'],
    ['A2AGateway', { providers: {}, tasks: 5 }, '"tasks" must be a TaskManager, got 5'],
    ['A2AGateway', { providers: {}, registry: 5 }, '"registry" must be an AgentRegistry, got 5'],
    ['A2AGateway', { providers: {}, clock: 5 }, CLOCK],
    ['A2AGateway', { providers: {}, handleSecret: 5 }, '"handleSecret" must be an array of strings, got 5'],
    ['A2AGateway', { providers: {}, handleSecret: [] }, '"handleSecret" must have at least one secret'],
    ['AgentRegistry', { fetch: 5 }, '"fetch" must be a function, got a number'],
    ['AgentRegistry', { urlGuard: 5 }, '"urlGuard" must be a function, got a number'],
    ['AgentRegistry', { onStatusChange: 5 }, '"onStatusChange" must be a function, got a number'],
    ['AgentRegistry', { healthCheck: 5 }, '"healthCheck" must be a function, got a number'],
    ['AgentRegistry', { clock: 5 }, CLOCK],
    ['gatewayRequestHandler', { chooseAgent: 5 }, '"chooseAgent" must be a function, got a number'],
    ['gatewayRequestHandler', { announceHandles: 'no' }, '"announceHandles" must be a boolean, got "no"'],
    ['langGraph', { input: 5 }, '"input" must be a function, got a number'],
    ['langGraph', { multitaskStrategy: 'no' }, '"multitaskStrategy" must be one of "enqueue"'],
    ['bedrock', { fetch: 5 }, '"fetch" must be a function, got a number'],
    ['bedrock', { agentCore: { toPaylod: 5 } }, 'Unknown option "toPaylod" of bedrockAgentCore'],
    ['bedrockAgentCore', { toPayload: 5 }, '"toPayload" must be a function, got a number'],
    ['pydanticAI', { authorize: 5 }, '"authorize" must be a function, got a number'],
    ['azureAI', { authorize: 5 }, '"authorize" must be a function, got a number'],
    ['vertexAI', { fetch: 5 }, '"fetch" must be a function, got a number'],
    ['a2a', { authorize: 5 }, '"authorize" must be a function, got a number'],
    ['a2a', { extensions: 5 }, '"extensions" must be an array of strings, got 5'],
  ])('%s: %j', async (name, options, text) => {
    const error = await errorOf(name, options)
    expect(String(error)).toContain(text)
    expect([TypeError, RangeError].some((known) => error instanceof known)).toBe(true)
  })
})
