/**
 * Canonical names of providers, and their aliases.
 *
 * @module
 */

/** Aliases by canonical name: in lower case, without `_`, `-` and spaces. */
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

/** Returns the canonical name of a provider; an unknown name is returned unchanged. */
export function providerName(given: string): string {
  return BY_SPELLING.get(normalize(given)) ?? given
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/[_\-\s]/g, '')
}
