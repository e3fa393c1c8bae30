/**
 * The official client of Amazon Bedrock agents, loaded on demand.
 *
 * @module
 */
import { invalidParams, missingPackage } from '../../../core/errors.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import { regionOf } from './bedrock-endpoint.js'

/** The result of an invocation that an agent requested. */
export type InvocationResult =
  | { readonly functionResult: { readonly actionGroup: string } }
  | { readonly apiResult: { readonly actionGroup: string } }

/** Input of InvokeAgent. */
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

/** The used part of the official client, `BedrockAgentRuntime` of `@aws-sdk/client-bedrock-agent-runtime`. */
export interface BedrockAgentClient {
  invokeAgent(
    input: InvokeAgentInput,
    options: { readonly abortSignal: AbortSignal },
  ): Promise<{ readonly completion?: AsyncIterable<object> | undefined }>
}

/** @throws {A2AError} `INVALID_PARAMS` when the region is unknown. */
export function requireRegion(
  agent: RegisteredAgent,
  region = regionOf(agent, 'bedrock-agent-runtime'),
): string {
  if (region !== undefined) return region
  throw invalidParams('settings.region', 'must name the region, such as eu-central-1: the URL does not')
}

/**
 * Creates a client for the agent's URL, with the credentials of the environment. It does not retry: a message without a
 * response may have arrived.
 *
 * @throws {A2AError} `UNSUPPORTED_OPERATION` when the package is not installed.
 */
export async function loadAgentClient(agent: RegisteredAgent, region: string): Promise<BedrockAgentClient> {
  const { BedrockAgentRuntime } = await loadPackage()
  // The optional package has no types at build time.
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
    const needs = 'Agents of Bedrock need its client'
    throw missingPackage(needs, '@aws-sdk/client-bedrock-agent-runtime', 'InvokeAgent', cause)
  }
}
