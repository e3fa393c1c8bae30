/**
 * What providers are called.
 *
 * @module
 */

/** The usual spelling of each, and the others that configurations have: lower case, without `_`, `-` and blanks. */
const NAMES = {
  a2a: ['generic'],
  langgraph: ['langchain'],
  vertex_ai: ['vertex', 'vertexai', 'google'],
  azure_ai: ['azure', 'azureai', 'azureaifoundry'],
  bedrock: ['aws', 'bedrockagents', 'bedrockagentcore', 'agentcore'],
  pydantic_ai: ['pydantic', 'pydanticai'],
  custom: [],
} as const satisfies Record<string, readonly string[]>

export const PROVIDER_NAMES: readonly string[] = Object.keys(NAMES)

const BY_SPELLING = new Map<string, string>(
  Object.entries(NAMES).flatMap(([name, others]) => [
    [normalize(name), name],
    ...others.map((other): [string, string] => [other, name]),
  ]),
)

/** The usual spelling of a provider's name; a name that is not known is as it is given. */
export function providerName(given: string): string {
  return BY_SPELLING.get(normalize(given)) ?? given
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/[_\-\s]/g, '')
}
