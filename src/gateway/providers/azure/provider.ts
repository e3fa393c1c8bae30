/**
 * Provider for agents of Azure AI Foundry.
 *
 * @module
 */
import { boolean, nonEmptyString, object, oneOf, optional } from '../../../schemas/scalars.js'
import { invalidParams } from '../../../core/errors.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import type { AgentProvider } from '../../provider.js'
import { requireServiceOptions, Service, type ServiceOptions } from '../shared/service.js'
import { parseSettings } from '../shared/answers.js'
import { entraAuthorize, type AzureCredentials } from './credentials.js'
import { AzureResponses } from './responses.js'
import { AzureThreads } from './threads.js'

/** Options of {@link azureAI}. */
export interface AzureAIOptions extends ServiceOptions {
  /**
   * Credentials for agents without `endpoint.auth`. Default is the `DefaultAzureCredential` of `@azure/identity`,
   * loaded on demand.
   */
  readonly credentials?: AzureCredentials | undefined
}

const SettingsSchema = object({
  api: optional(oneOf(['responses', 'threads'])),
  agentName: optional(nonEmptyString),
  agentVersion: optional(nonEmptyString),
  agentEndpoint: optional(boolean),
  background: optional(boolean),
  assistantId: optional(nonEmptyString),
  agentId: optional(nonEmptyString),
  apiVersion: optional(nonEmptyString),
})

/**
 * Provider for agents of Azure AI Foundry. An agent's `endpoint.url` is that of its project:
 * `https://….services.ai.azure.com/api/projects/…`.
 *
 * - `settings.api: 'responses'` (default) takes `agentName` (default is the id of the agent) and `agentVersion` (default is
 *   the latest). Tasks run in the background, where they can be polled and canceled, unless `background` is false. Set
 *   `agentEndpoint` for hosted agents, which have an endpoint each.
 * - `settings.api: 'threads'` is for classic agents, with `assistantId` (or `agentId`). Microsoft retires them on
 *   2027-03-31.
 *
 * A text cannot answer a function call of an agent. The message needs a data part in the service's form: `{type:
 * 'function_call_output', call_id, output}`, or for a classic agent `{tool_outputs: [{tool_call_id, output}]}`.
 *
 * Calls reject with `INVALID_PARAMS` for settings that are missing or wrong, and for a message that is not such an
 * answer.
 *
 * @throws {TypeError} for an unknown option. The error names it.
 */
export function azureAI(options: AzureAIOptions = {}): AgentProvider {
  requireServiceOptions(options, 'azureAI', ['credentials'])
  const authorize = entraAuthorize(options.credentials)
  const apiOf = (agent: RegisteredAgent): AzureResponses | AzureThreads => {
    const service = new Service('azure_ai', agent, options, authorize)
    const { api, agentName, ...settings } = parseSettings(agent, SettingsSchema)
    if (api === 'threads') return new AzureThreads(service, settings)
    if (agentName === undefined && (settings.assistantId ?? settings.agentId) !== undefined)
      throw invalidParams('settings.agentName', "is missing. For a classic agent set api to 'threads'")
    return new AzureResponses(service, { ...settings, agentName: agentName ?? agent.id })
  }
  return {
    checkAgent: (agent) => void apiOf(agent),
    sendTask: async (agent, task, call) => await apiOf(agent).send(task, call),
    getTask: async (agent, ref, call) => await apiOf(agent).get(ref, call),
    cancelTask: async (agent, ref, call) => await apiOf(agent).cancel(ref, call),
    async *streamTask(agent, task, call) {
      yield* apiOf(agent).stream(task, call)
    },
    healthCheck: async (agent, call) => await apiOf(agent).health(call),
  }
}
