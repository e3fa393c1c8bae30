/**
 * Agent cards that you build, read, sign and verify.
 *
 * @module
 */
export { AgentCard, type AgentInfo } from './agent-card.js'
export { buildAgentCard, type AgentCardInput } from './build.js'
export { canonicalizeAgentCard } from './canonical.js'
export { corvidPreset } from './corvid.js'
export { urlFromEnvironment } from './environment.js'
export {
  buildAgentCardForAgent,
  type AgentCardForAgentOptions,
  type AgentPreset,
  type AgentRecord,
} from './for-agent.js'
export { lintAgentCard, type CardProblem, type LintOptions } from './lint.js'
export type { FetchKeys, Jwk, Key, NativeKey } from './keys.js'
export { parseAgentCard } from './parse.js'
export {
  signAgentCard,
  verifyAgentCard,
  type SignatureHeader,
  type SignOptions,
  type VerifiedCard,
  type VerifyOptions,
} from './sign.js'
export { skillSchemas, type SkillSchemas } from './skill-schemas.js'
export { subAgentsToSkills, toolsToSkills, type Tool, type ToolTables } from './skills.js'
export { toHybridCard, type CardEncoder } from './versions.js'
export { QUESTIONS_EXTENSION } from '../wire/question/questions.js'
export { TOOL_CALLS_EXTENSION } from '../wire/tool-calls.js'
export { toV03Card } from '../wire/v0-3/card.js'
