/**
 * Agent card: the identity, skills and interfaces of an agent.
 *
 * @module
 */
import { JsonObjectSchema } from './json.js'
import { boolean, list, nonEmptyString, object, optional, record, string, strings } from './scalars.js'
import { SecurityRequirementSchema, SecuritySchemeSchema } from './security.js'
import type { Infer } from './schema.js'

// Required arrays have at least one element (§5.7).
const requiredStrings = list(string, 'must not be empty')

/** A2A 1.0 §4.4.6. The binding is open: a custom one is named by a URI (§5.8). */
export const AgentInterfaceSchema = object({
  url: nonEmptyString,
  protocolBinding: nonEmptyString,
  tenant: optional(string),
  protocolVersion: nonEmptyString,
})
export type AgentInterface = Infer<typeof AgentInterfaceSchema>

/** A2A 1.0 §4.4.2. */
export const AgentProviderSchema = object({
  url: nonEmptyString,
  organization: string,
})
export type AgentProvider = Infer<typeof AgentProviderSchema>

/** A2A 1.0 §4.4.4. */
export const AgentExtensionSchema = object({
  uri: optional(nonEmptyString),
  description: optional(string),
  required: optional(boolean),
  params: optional(JsonObjectSchema),
})
export type AgentExtension = Infer<typeof AgentExtensionSchema>

/** A2A 1.0 §4.4.3. */
export const AgentCapabilitiesSchema = object({
  streaming: optional(boolean),
  pushNotifications: optional(boolean),
  extensions: optional(list(AgentExtensionSchema)),
  extendedAgentCard: optional(boolean),
})
export type AgentCapabilities = Infer<typeof AgentCapabilitiesSchema>

/** A2A 1.0 §4.4.5. */
export const AgentSkillSchema = object({
  id: nonEmptyString,
  name: string,
  description: string,
  tags: requiredStrings,
  examples: optional(strings),
  inputModes: optional(strings),
  outputModes: optional(strings),
  securityRequirements: optional(list(SecurityRequirementSchema)),
})
export type AgentSkill = Infer<typeof AgentSkillSchema>

/** A JWS (A2A 1.0 §4.4.7). */
export const AgentCardSignatureSchema = object({
  protected: nonEmptyString,
  signature: nonEmptyString,
  header: optional(JsonObjectSchema),
})
export type AgentCardSignature = Infer<typeof AgentCardSignatureSchema>

/** A2A 1.0 §4.4.1. */
export const AgentCardSchema = object({
  name: string,
  description: string,
  supportedInterfaces: list(AgentInterfaceSchema, 'must have at least one interface'),
  provider: optional(AgentProviderSchema),
  version: string,
  documentationUrl: optional(string),
  capabilities: AgentCapabilitiesSchema,
  securitySchemes: optional(record(SecuritySchemeSchema)),
  securityRequirements: optional(list(SecurityRequirementSchema)),
  defaultInputModes: requiredStrings,
  defaultOutputModes: requiredStrings,
  // May be empty in spite of §5.7, as it is in the specification's own example of a card to sign (§8.4.1).
  skills: list(AgentSkillSchema),
  signatures: optional(list(AgentCardSignatureSchema)),
  iconUrl: optional(string),
})
export type AgentCard = Infer<typeof AgentCardSchema>
