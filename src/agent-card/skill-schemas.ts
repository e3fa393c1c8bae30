/**
 * The extension for the schemas of skills. A skill of A2A names media types, and not what its data has to be.
 *
 * @module
 */
import type { JsonObject } from '../schemas/json.js'
import { recordOf, type Unread } from '../runtime/unread.js'
import type { AgentExtension } from '../schemas/agent-card.js'

/** The URI of the extension. */
const SKILL_SCHEMAS = 'https://a2a-tasks.dev/extensions/skill-schemas/v1'

/** What the data of a skill has to be. */
export interface SkillSchemas {
  /** The JSON Schema of the data part of a message. */
  readonly inputSchema?: object | undefined
  /** The JSON Schema of the data part of the result. */
  readonly outputSchema?: object | undefined
}

/** The most skills whose schemas are read of a card. */
const MAX_SKILLS = 1_000
/** The most characters of a schema that is read, as JSON. */
const MAX_SCHEMA = 65_536

/**
 * The schemas of skills, by their ids, as an entry for `capabilities.extensions` of an agent's card. `createMcpHandler` and
 * `agentTool` give them to models. Of a card, 1,000 skills are read, and schemas of at most 65,536 characters each, as JSON.
 *
 * @example
 * const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
 * const capabilities = { streaming: true, extensions: [skillSchemas({ book: { inputSchema } })] }
 * const card = { name: 'Travel', url: 'http://localhost:3000', capabilities, skills: [book] }
 */
export function skillSchemas(skills: Readonly<Record<string, SkillSchemas>>): AgentExtension {
  // Schemas are of any type: what is no JSON in them is left out.
  const copy = JSON.parse(JSON.stringify(skills)) as JsonObject
  const description = 'JSON Schemas of the data that skills take and return'
  return { uri: SKILL_SCHEMAS, description, required: false, params: { skills: copy } }
}

interface CardWithExtensions {
  readonly capabilities?: { readonly extensions?: readonly AgentExtension[] | undefined } | undefined
}

/** The schemas of skills that a card has, by the ids of the skills. What is no schema, or too large, is left out. */
export function skillSchemasIn({ capabilities }: CardWithExtensions): ReadonlyMap<string, SkillSchemas> {
  const params = capabilities?.extensions?.find(({ uri }) => uri === SKILL_SCHEMAS)?.params
  const skills = Object.entries(recordOf(params?.['skills']) ?? {}).slice(0, MAX_SKILLS)
  return new Map(
    skills.map(([id, given]) => {
      const { inputSchema, outputSchema } = recordOf(given) ?? {}
      return [id, { ...schemaAs('inputSchema', inputSchema), ...schemaAs('outputSchema', outputSchema) }]
    }),
  )
}

function schemaAs(name: keyof SkillSchemas, given: unknown): SkillSchemas {
  const schema: Unread | undefined = recordOf(given)
  return schema === undefined || JSON.stringify(schema).length > MAX_SCHEMA ? {} : { [name]: schema }
}
