/**
 * Provider for agents of Vertex AI Agent Engine.
 *
 * @module
 */
import { A2AClient } from '../../../client/a2a-client.js'
import { A2AError, invalidParams, taskNotFound } from '../../../core/errors.js'
import type { JsonValue } from '../../../core/json-types.js'
import {
  boolean,
  literal,
  nonEmptyString,
  object,
  oneOf,
  optional,
  refine,
  string,
} from '../../../schemas/scalars.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import type { AgentProvider, ProviderCall, ProviderTask, TaskRef, TaskUpdate } from '../../provider.js'
import { requireServiceOptions, Service, type ServiceOptions } from '../shared/service.js'
import { A2AProvider } from '../a2a/provider.js'
import { toClientOptions } from '../a2a/clients.js'
import { healthOfRequest, parseSettings } from '../shared/answers.js'
import { googleAuthorize, type GoogleCredentials } from './credentials.js'
import { VertexEngine } from './engine.js'
import { toPart } from './turn.js'

/** Options of {@link vertexAI}. */
export interface VertexAIOptions extends ServiceOptions {
  /**
   * Credentials for agents without `endpoint.auth`. Default is a `GoogleAuth` of `google-auth-library` with Application
   * Default Credentials, loaded on demand.
   */
  readonly credentials?: GoogleCredentials | undefined
}

const SettingsSchema = object({
  resource: optional(
    refine(
      string,
      (name) => /^projects\/[^/?#]+\/locations\/[^/?#]+\/reasoningEngines\/[^/:?#]+$/.test(name),
      'must be projects/…/locations/…/reasoningEngines/…',
    ),
  ),
  project: optional(nonEmptyString),
  location: optional(nonEmptyString),
  engineId: optional(nonEmptyString),
  protocol: optional(oneOf(['adk', 'query', 'a2a'])),
  profile: optional(literal('litellm-rs')),
  classMethod: optional(nonEmptyString),
  userId: optional(nonEmptyString),
  streaming: optional(boolean),
})

/**
 * Provider for agents of Vertex AI Agent Engine. An agent's `endpoint.url` is that of the API, such as
 * `https://us-central1-aiplatform.googleapis.com`. Its settings identify the engine: `project`, `engineId` and `location`,
 * by default that of the URL; or all in one as `resource`.
 *
 * `settings.protocol` is the protocol of the engine:
 *
 * - `'adk'` (default) is for agents of the Agent Development Kit. Each conversation is a session, of the user `userId`;
 *   by default every conversation has its own user.
 * - `'query'` calls the method `classMethod` (default `query`, and `stream_query` for streams) with the text as
 *   `input`.
 * - `'a2a'` is for A2A agents. Set `streaming` to false if the agent has no streams.
 *
 * Tasks of `'adk'` and `'query'` cannot be polled, and canceling ends the request; those of `'a2a'` can be polled and
 * canceled. `profile: 'litellm-rs'` calls `agents/{engineId}:run`, as in the LiteLLM-RS document, where `engineId` is the
 * id of the agent; no service of Google has this path.
 *
 * Calls reject with `INVALID_PARAMS` for settings that are missing or wrong.
 *
 * @throws {TypeError} for an unknown option. The error names it.
 */
export function vertexAI(options: VertexAIOptions = {}): AgentProvider {
  requireServiceOptions(options, 'vertexAI', ['credentials'])
  const authorize = googleAuthorize(options.credentials)
  const serviceOf = (agent: RegisteredAgent): Service => new Service(NAME, agent, options, authorize)
  const a2a = new A2AProvider(NAME, (agent) => {
    const signer = options.authorize ?? (agent.endpoint.auth === undefined ? authorize : undefined)
    const clientOptions = toClientOptions({ ...options, authorize: signer }, agent)
    return Promise.resolve(new A2AClient({ ...clientOptions, card: cardOf(agent) }))
  })
  const engine: Pick<AgentProvider, 'sendTask' | 'getTask' | 'cancelTask' | 'streamTask'> = {
    async sendTask(agent, task, call) {
      const settings = parseSettings(agent, SettingsSchema)
      if (settings.profile !== undefined) return await runLiteLlm(serviceOf(agent), pathOf(agent), task, call)
      return await engineOf(serviceOf(agent), agent).send(task, call)
    },
    async *streamTask(agent, task, call) {
      const settings = parseSettings(agent, SettingsSchema)
      if (settings.profile !== undefined) yield await runLiteLlm(serviceOf(agent), pathOf(agent), task, call)
      else yield* engineOf(serviceOf(agent), agent).stream(task, call)
    },
    getTask: () => Promise.reject(unsupported('getTask')),
    cancelTask: () => Promise.reject(unsupported('cancelTask')),
  }
  const providerOf = (agent: RegisteredAgent): typeof engine => {
    const { protocol, profile } = parseSettings(agent, SettingsSchema)
    return protocol === 'a2a' && profile === undefined ? a2a : engine
  }
  return {
    checkAgent: (agent) => void pathOf(agent),
    sendTask: async (agent, task, call) => await providerOf(agent).sendTask(agent, task, call),
    getTask: (agent, ref, call) =>
      rejectUnknownTask(ref, async () => await providerOf(agent).getTask(agent, ref, call)),
    cancelTask: (agent, ref, call) =>
      rejectUnknownTask(ref, async () => await providerOf(agent).cancelTask(agent, ref, call)),
    async *streamTask(agent, task, call) {
      yield* providerOf(agent).streamTask(agent, task, call)
    },
    async healthCheck(agent, call) {
      const path = pathOf(agent)
      return await healthOfRequest(serviceOf(agent), { method: 'GET', path }, call)
    },
  }
}

const NAME = 'vertex_ai'

function engineOf(service: Service, agent: RegisteredAgent): VertexEngine {
  const { classMethod, userId, protocol } = parseSettings(agent, SettingsSchema)
  return new VertexEngine(service, pathOf(agent), {
    protocol: protocol === 'query' ? 'query' : 'adk',
    ...(classMethod !== undefined && { classMethod }),
    ...(userId !== undefined && { userId }),
  })
}

/** @throws {A2AError} `INVALID_PARAMS` when the settings do not identify the engine. */
function pathOf(agent: RegisteredAgent, version = 'v1'): string {
  const settings = parseSettings(agent, SettingsSchema)
  const { resource, project, profile } = settings
  if (resource !== undefined && profile === undefined) return `/${version}/${resource}`
  const location = settings.location ?? LOCATION.exec(agent.endpoint.url)?.[1]
  // In the document, the id of the agent is the id at the service.
  const engineId = settings.engineId ?? (profile === undefined ? undefined : agent.id)
  for (const [name, value] of Object.entries({ project, location, engineId })) {
    if (value === undefined) throw invalidParams(`settings.${name}`, 'is missing: it selects the engine')
  }
  const kind = profile === undefined ? 'reasoningEngines' : 'agents'
  const parts = ['projects', project, 'locations', location, kind, engineId]
  return `/${version}/${parts.map((part) => encodeURIComponent(part ?? '')).join('/')}`
}

/** The location in the URL of a regional API. */
const LOCATION = /^https:\/\/([a-z]+-[a-z]+\d+)-aiplatform\.googleapis\.com(?:[/:]|$)/

/**
 * Returns the card of an agent with A2A 0.3 over HTTP+JSON, which is what Agent Engine serves. The agent's own card is
 * not needed.
 */
function cardOf(agent: RegisteredAgent): object {
  const settings = parseSettings(agent, SettingsSchema)
  const { name, description, endpoint } = agent
  return {
    protocolVersion: '0.3.0',
    name,
    description,
    version: '1.0.0',
    url: `${endpoint.url.replace(/\/$/, '')}${pathOf(agent, 'v1beta1')}/a2a`,
    preferredTransport: 'HTTP+JSON',
    capabilities: { streaming: settings.streaming ?? true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  }
}

/** The call of the LiteLLM-RS document, which does not specify the response. */
async function runLiteLlm(
  service: Service,
  path: string,
  { message, text }: ProviderTask,
  call: ProviderCall,
): Promise<TaskUpdate> {
  // Metadata of messages is JSON.
  const context = (message.metadata ?? null) as JsonValue
  const body = { userInput: { text }, context }
  const answer = await service.send({ method: 'POST', path: `${path}:run`, body }, call)
  if (answer.text === '') return { state: 'completed' }
  const artifactId = `answer-${message.messageId}`
  return { state: 'completed', artifacts: [{ artifactId, parts: [toPart(answer.json())] }] }
}

/** Google reports an unknown task as its own kind of 404, not as the error of A2A. */
async function rejectUnknownTask(ref: TaskRef, work: () => Promise<TaskUpdate>): Promise<TaskUpdate> {
  try {
    return await work()
  } catch (error) {
    throw A2AError.is(error, 'PROVIDER_ERROR') && error.data.status === 404
      ? taskNotFound(ref['taskId'])
      : error
  }
}

function unsupported(operation: string): A2AError<'UNSUPPORTED_OPERATION'> {
  const reason = 'Agent Engine keeps no tasks, but for agents that speak A2A: their protocol is a2a'
  return new A2AError('UNSUPPORTED_OPERATION', reason, { operation })
}
