/**
 * The official client of Bedrock's agents, loaded when it is needed.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../../core/errors.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import { regionOf } from './bedrock-endpoint.js'

/** What came of what an agent asked for. */
export type InvocationResult =
  | { readonly functionResult: { readonly actionGroup: string } }
  | { readonly apiResult: { readonly actionGroup: string } }

/** What InvokeAgent is asked with. */
export interface InvokeAgentInput {
  readonly agentId: string
  readonly agentAliasId: string
  readonly sessionId: string
  readonly inputText?: string
  readonly memoryId?: string
  readonly sessionState?: {
    readonly invocationId: string
    readonly returnControlInvocationResults: InvocationResult[]
  }
  readonly streamingConfigurations?: { readonly streamFinalResponse: boolean }
}

/** What is used of the official client: a `BedrockAgentRuntime` of `@aws-sdk/client-bedrock-agent-runtime` is one. */
export interface BedrockAgentClient {
  invokeAgent(
    input: InvokeAgentInput,
    options: { readonly abortSignal: AbortSignal },
  ): Promise<{ readonly completion?: AsyncIterable<object> | undefined }>
}

/** @throws {A2AError} `INVALID_PARAMS` where no region is known. */
export function requireRegion(
  agent: RegisteredAgent,
  region = regionOf(agent, 'bedrock-agent-runtime'),
): string {
  if (region !== undefined) return region
  throw invalidParams('settings.region', 'must name the region, such as eu-central-1: the URL does not')
}

/**
 * A client for the agent's URL, with the credentials of the environment. It sends a message once: whether one that was not
 * answered has arrived, nobody knows.
 *
 * @throws {A2AError} `UNSUPPORTED_OPERATION` where the package is not installed.
 */
export async function loadAgentClient(agent: RegisteredAgent, region: string): Promise<BedrockAgentClient> {
  const { BedrockAgentRuntime } = await loadPackage()
  // Where the package is not installed, there is no type of it.
  return new BedrockAgentRuntime({
    region,
    endpoint: agent.endpoint.url,
    maxAttempts: 1,
  }) as BedrockAgentClient
}

async function loadPackage() {
  try {
    return await import('@aws-sdk/client-bedrock-agent-runtime')
  } catch (cause) {
    throw new A2AError(
      'UNSUPPORTED_OPERATION',
      'Agents of Bedrock need its client: npm install @aws-sdk/client-bedrock-agent-runtime',
      { operation: 'InvokeAgent' },
      { cause },
    )
  }
}
