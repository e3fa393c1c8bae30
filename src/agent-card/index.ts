/**
 * Agent cards: what an agent tells of itself.
 *
 * @module
 */
export { buildAgentCard, type AgentCardInput } from './build.js'
