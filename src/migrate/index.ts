/**
 * Adapter for executors of `@a2a-js/sdk`.
 *
 * @module
 */
export { fromAgentExecutor } from './from-agent-executor.js'
export type { AgentExecutorLike, FromAgentExecutorOptions, Ignored, SdkVersion } from './agent-executor.js'
