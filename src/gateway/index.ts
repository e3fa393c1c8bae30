/**
 * Gateway to agents behind services of any kind, with a registry, providers and a configuration file.
 *
 * @module
 */
export { A2AGateway } from './gateway.js'
export type { TaskNeeds } from './admission/agent-selection.js'
export type { GatewayStats } from './admission/statistics.js'
export type { A2AGatewayOptions, GatewayErrorContext } from './options.js'
export type { SendTaskOptions, TaskContent, TaskInput, WorkOptions } from './turns/input.js'
export type { GatewayTasks } from './turns/tasks.js'
export type { HandleContents } from './turns/handle.js'
export { gatewayRequestHandler, type GatewayRequestHandlerOptions } from './request-handler.js'
export type { AgentInput, AgentStatus, Capability, EndpointAuth, RegisteredAgent } from './registry/agent.js'
export { AgentRegistry } from './registry/registry.js'
export type { AgentQuery, AgentRegistryOptions, RegistryStats, StatusChange } from './registry/registry.js'
export type { HealthCheck, HealthMonitoring } from './registry/health.js'
export type { CircuitBreakerOptions } from './admission/circuit-breaker.js'
export type { RateLimitOptions } from '../runtime/rate-limit.js'
export { loadGatewayConfig, type LoadGatewayConfigOptions } from './config/config.js'
export type { GatewayConfig, GatewaySettings } from './config/types.js'
export type {
  AgentProvider,
  ProviderCall,
  ProviderTask,
  TaskFailure,
  TaskRef,
  TaskUpdate,
} from './provider.js'
export {
  providerError,
  type Authorize,
  type FailureDetails,
  type ServiceOptions,
  type ServiceRequest,
} from './providers/shared/service.js'
export { a2a, type A2AOptions } from './providers/a2a/provider.js'
export { azureAI, type AzureAIOptions } from './providers/azure/provider.js'
export type { AzureCredentials } from './providers/azure/credentials.js'
export { bedrock, type BedrockOptions } from './providers/aws/bedrock.js'
export {
  custom,
  type CustomCall,
  type CustomHandlers,
  type CustomRun,
  type Said,
} from './providers/custom.js'
export type { LangGraphOptions, LangGraphStreamMode } from './providers/langgraph/options.js'
export { langGraph } from './providers/langgraph/provider.js'
export { pydanticAI, type PydanticAIOptions } from './providers/pydantic.js'
export { vertexAI, type VertexAIOptions } from './providers/vertex/provider.js'
export type { GoogleCredentials } from './providers/vertex/credentials.js'
